"""``grid_sample`` where points lie far away, nowhere, or on a border between two elements, beside PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")

FAR = [np.inf, -np.inf, np.nan, 1e10, -1e10, 1.0, -1.0, 1.0000001]


def sampled(engine: Any, image: Any, grid: Any, how: dict[str, Any]) -> list[Any]:
    """Values, and gradients of the image and of the grid."""
    leaves = [engine.from_numpy(array.copy()).requires_grad_() for array in (image, grid)]
    out = engine.nn.functional.grid_sample(*leaves, **how)
    out.backward(engine.arange(1.0, 1.0 + out.numel()).to(out.dtype).reshape(out.shape))
    return [out.detach().numpy(), *[leaf.grad.numpy() for leaf in leaves]]


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_far_away(rank: int, dtype: str) -> None:
    """What lies outside counts nothing, though its weight be infinite; NaN comes to lie where PyTorch puts it."""
    rng = np.random.default_rng(0)
    image = rng.standard_normal((2, 2, *(3, 4, 5)[:rank])).astype(dtype)
    modes = ["bilinear", "nearest", "bicubic"][: 5 - rank]
    for far, mode, padding, align in itertools.product(FAR, modes, ("zeros", "border"), (True, False)):
        if rank == 2 and not np.isfinite(far) and (mode == "bicubic" or (mode == "bilinear" and np.isnan(far))):
            continue  # PyTorch reads outside of the image there, and may end the process
        grid = (rng.random((2, *(2, 3, 3)[:rank], rank)) * 2.4 - 1.2).astype(dtype)
        grid.reshape(-1, rank)[2, 0] = grid.reshape(-1, rank)[5, rank - 1] = far
        how = {"mode": mode, "padding_mode": padding, "align_corners": align}
        ours, theirs = (sampled(engine, image, grid, how) for engine in (retrograd, torch))
        first_only = rank == 3 and np.isnan(far) and padding == "border"  # there the gradients forget such points
        for found, wanted in list(zip(ours, theirs, strict=True))[: 1 if first_only else 3]:
            np.testing.assert_allclose(
                found, wanted, rtol=2e-4 if dtype == "float32" else 1e-8, atol=2e-5, err_msg=str((far, how))
            )


def test_infinities_in_the_image_beside_points_outside() -> None:
    """An infinite element does not spoil points that do not see it."""
    image = torch.ones(1, 1, 3, 3)
    image[0, 0, 0, 0] = float("inf")
    grid = torch.tensor([[[[5.0, 5.0], [1.0, 1.0]]]])
    wanted = torch.nn.functional.grid_sample(image, grid, align_corners=True)
    ours = retrograd.nn.functional.grid_sample(
        retrograd.from_numpy(image.numpy()), retrograd.from_numpy(grid.numpy()), align_corners=True
    )
    assert ours.tolist() == wanted.tolist() == [[[[0.0, 1.0]]]]


def test_second_derivatives_beside_points_far_away() -> None:
    """The second derivatives of points that are near are finite, and those of others are 0."""
    image = retrograd.arange(12.0, dtype=retrograd.float64).reshape(1, 1, 3, 4).requires_grad_()
    grid = retrograd.tensor([[[[0.3, -0.2], [float("inf"), 0.0]]]], dtype=retrograd.float64, requires_grad=True)
    out = retrograd.nn.functional.grid_sample(image, grid, padding_mode="border", align_corners=False)
    (g,) = retrograd.autograd.grad((out**2).sum(), grid, create_graph=True)
    (second,) = retrograd.autograd.grad(g.sum(), grid)
    assert second.isfinite().all()
    assert second[0, 0, 1, 0] == 0

"""Fractional max pools of no window and of one."""

from __future__ import annotations

from typing import Any

from both_engines import differential


@differential
def test_fractional_pools_without_windows(torch: Any) -> Any:
    """Empty results of the shape asked for, and a gradient of zeros; one window lies at the end."""
    pools, x = torch.nn.functional, torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
    y, indices = pools.fractional_max_pool2d(x, 2, output_size=0, return_indices=True)
    volume = pools.fractional_max_pool3d(torch.ones(1, 1, 4, 4, 4), 2, output_size=(0, 1, 1))
    return y, indices, torch.autograd.grad(y.sum(), x), volume, pools.fractional_max_pool2d(x, 2, output_size=1)

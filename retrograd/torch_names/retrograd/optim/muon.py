"""Muon: momentum whose matrix is made orthogonal before each step (Jordan et al. 2024)."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core import dtypes
from .declared import Declared, check_lr
from .updates import zeros_of


class Muon(Declared, settings=True):
    """Steps along the nearest matrix with equal singular values, for parameters that are matrices.

    ``ns_coefficients`` and ``ns_steps`` are of the Newton-Schulz iteration that finds it; ``adjust_lr_fn`` says how the
    step grows with the shape: ``"original"`` (the default) or ``"match_rms_adamw"``.
    """

    __module__ = "retrograd.optim"

    lr: Any = 1e-3
    weight_decay: float = 0.1
    momentum: float = 0.95
    nesterov: bool = True
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315)
    eps: float = 1e-7
    ns_steps: int = 5
    adjust_lr_fn: str | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.dim() != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def _check_settings(self, settings: dict[str, Any]) -> None:
        check_lr(settings["lr"])
        for name, called in (("lr", "Learning rate"), ("momentum", "momentum"), ("weight_decay", "weight decay")):
            if not 0.0 <= settings[name]:
                raise ValueError(f"{called} should be >= 0 but is: {settings[name]}")
        if settings["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {settings['adjust_lr_fn']} is not supported")

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_of(p)()
        mean = state["momentum_buffer"].lerp_(g, 1 - group["momentum"])
        direction = g.lerp(mean, group["momentum"]) if group["nesterov"] else mean
        lr = float(group["lr"])
        step = _orthogonal(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(step.to(p.dtype), alpha=-lr * _growth(group["adjust_lr_fn"], *p.shape))


def _growth(how: str | None, rows: int, columns: int) -> float:
    """How much longer the step is for a parameter of this shape."""
    return 0.2 * math.sqrt(max(rows, columns)) if how == "match_rms_adamw" else math.sqrt(max(1, rows / columns))


def _orthogonal(matrix: Any, coefficients: tuple[float, ...], steps: int, eps: float) -> Any:
    """``matrix`` with singular values near 1, by a polynomial of odd powers that is applied ``steps`` times."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    wide = matrix if matrix.size(0) <= matrix.size(1) else matrix.T
    x = _coarse(wide)
    x = _coarse(x / _coarse(x.norm()).clamp(min=eps))
    for _ in range(steps):
        gram = _coarse(x @ x.T)
        x = _coarse(a * x + _coarse(b * gram + c * (gram @ gram)) @ x)
    return x if wide is matrix else x.T


def _coarse(x: Any) -> Any:
    """Rounded to the eight significant bits of bfloat16, in which PyTorch iterates."""
    bits = x.to(dtypes.float32).contiguous().view(dtypes.int32)
    return (bits + ((bits >> 16) & 1) + 0x7FFF & -0x10000).view(dtypes.float32)

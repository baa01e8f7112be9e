"""Adafactor: squares of gradients of a matrix kept by rows and columns only (Shazeer and Stern 2018)."""

from __future__ import annotations

from typing import Any

from ..engine.core.dtypes import finfo
from .declared import Declared
from .updates import counted, zeros_of


def _mean_of_squares(g: Any, dim: int) -> Any:
    return g.norm(dim=dim, keepdim=True).square().div(g.size(dim))


class Adafactor(Declared, settings=True, keywords="foreach"):
    """Steps relative to the size of the parameter, over the root of factored running means of squares.

    ``eps`` are what is added to the squares (by default the dtype's epsilon) and the least size of a parameter; ``d``
    is the largest root mean square of an update.
    """

    __module__ = "retrograd.optim"

    lr: Any = 1e-2
    beta2_decay: float = -0.8
    eps: tuple[float | None, float] = (None, 1e-3)
    d: float = 1.0
    weight_decay: float = 0.0
    foreach: bool | None = None
    maximize: bool = False

    def _check_settings(self, settings: dict[str, Any]) -> None:
        numbers = {name: value for name, value in settings.items() if name != "eps"}
        super()._check_settings(numbers)
        if settings["d"] < 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {settings['d']}")
        if settings["beta2_decay"] > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {settings['beta2_decay']}")

    _by_parts = False

    def _update(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        first = group["eps"][0] if group["eps"][0] is not None else finfo(p.dtype).eps
        mean = self._mean_square(p, g, group, first)
        step = int(self.state[p]["step"].item())
        size = max(group["eps"][1], p.norm(2).item() / p.numel() ** 0.5)
        if group["weight_decay"]:
            p.mul_(1 - float(group["lr"]) * group["weight_decay"])
        update = mean.clamp(min=first * first).rsqrt().mul(g)
        clipped = max(1.0, update.norm(2).item() / (p.numel() ** 0.5 * group["d"]))
        p.add_(update, alpha=-size * min(float(group["lr"]), step**-0.5) / clipped)

    def _mean_square(self, p: Any, g: Any, group: dict[str, Any], eps: float) -> Any:
        """The running mean of squares; of a matrix as the product of what rows and columns have."""
        state = self.state[p]
        if g.dim() < 2:
            step = counted(state, variance=zeros_of(p))
            return state["variance"].lerp_(g.square(), step ** group["beta2_decay"])
        rows, columns = _mean_of_squares(g, -1), _mean_of_squares(g, -2)
        step = counted(state, row_var=zeros_of(rows), col_var=zeros_of(columns))
        state["row_var"].lerp_(rows, step ** group["beta2_decay"])
        state["col_var"].lerp_(columns, step ** group["beta2_decay"])
        return state["row_var"] @ state["col_var"] / state["row_var"].mean(dim=-2, keepdim=True).clamp(min=eps)

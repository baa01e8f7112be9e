"""Activations, losses and layers of neural networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..op import function
from ..registry import F
from .reduce import axes_of


def _softmax(self: Any, dim: int) -> Any:
    axis = axes_of(dim, self.ndim)[0] if self.ndim else None
    if not self.size:
        return self.copy()
    e = np.exp(self - np.maximum.reduce(self, axis=axis, keepdims=True))
    return e / np.add.reduce(e, axis=axis, keepdims=True)


function("_softmax", _softmax, self=lambda g, result, dim: result * (g - F._sum_dim(g * result, dim, True)))


def _log_softmax(self: Any, dim: int) -> Any:
    axis = axes_of(dim, self.ndim)[0] if self.ndim else None
    if not self.size:
        return self.copy()
    z = self - np.maximum.reduce(self, axis=axis, keepdims=True)
    return z - np.log(np.add.reduce(np.exp(z), axis=axis, keepdims=True))


function(
    "_log_softmax", _log_softmax,
    self=lambda g, result, dim: g - F.exp(result) * F._sum_dim(g, dim, True),
)  # fmt: skip


# -- negative log likelihood: input (N, C) or (C,), target (N,) or ()


def _nll_weights(self: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    """Weight of each row (0 for ignored ones)."""
    kept = target != ignore_index
    if not np.all(kept | True):
        return kept
    safe = np.where(kept, target, 0)
    if safe.size and (safe.min() < 0 or safe.max() >= self.shape[-1]):
        bad = safe.max() if safe.max() >= self.shape[-1] else safe.min()
        raise IndexError(f"Target {int(bad)} is out of bounds.")
    rows = np.ones(target.shape, self.dtype) if weight is None else weight[safe]
    return np.where(kept, rows, self.dtype.type(0))


def _nll_loss(self: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> Any:
    rows = _nll_weights(self, target, weight, ignore_index)
    safe = np.where(target != ignore_index, target, 0)
    picked = -np.take_along_axis(self, safe[..., None], -1)[..., 0] * rows
    if reduction == "none":
        return picked
    total = np.add.reduce(picked, axis=None)
    return total if reduction == "sum" else (total / np.add.reduce(rows, axis=None)).astype(self.dtype)


def _nll_grad(
    g: Any, self_sizes: Any, self_options: Any, target: Any, weight: Any, reduction: str, ignore_index: int
) -> Any:
    return F._nll_backward(g, tuple(self_sizes), self_options.numpy, target, weight, reduction, ignore_index)


def _nll_scale(sizes: Any, numpy: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    like = np.empty((0, sizes[-1]), numpy)
    rows = -_nll_weights(like, target, weight, ignore_index)
    return rows / -np.add.reduce(rows, axis=None) if reduction == "mean" else rows


def _nll_backward(
    g: Any, sizes: tuple[int, ...], numpy: Any, target: Any, weight: Any, reduction: str, ignore_index: int
) -> Any:
    out = np.zeros(sizes, numpy)
    scale = _nll_scale(sizes, np.dtype(numpy), target, weight, reduction, ignore_index)
    safe = np.where(target != ignore_index, target, 0)
    np.put_along_axis(out, safe[..., None], (g * scale)[..., None].astype(numpy), -1)
    return out


def _nll_backward_grad(
    g: Any, numpy: Any, sizes: Any, target: Any, weight: Any, reduction: str, ignore_index: int
) -> Any:
    return F._nll_loss(g, target, weight, reduction, ignore_index)


for _name, _node in (("_nll_loss", "NllLossBackward0"), ("_nll_loss_2d", "NllLoss2DBackward0")):
    function(_name, _nll_loss, node=_node, tensors="self target weight", self=_nll_grad,
             jvp=lambda primal, tangents, results: F._nll_loss(tangents[0], *primal[1:]))  # fmt: skip
function(
    "_nll_backward", _nll_backward, node="NllLossBackwardBackward0", tensors="g target weight", g=_nll_backward_grad
)


def _mse_loss(self: Any, target: Any, reduction: str = "mean") -> Any:
    squares = np.square(self - target)
    if reduction == "none":
        return squares
    return np.add.reduce(squares, axis=None) if reduction == "sum" else np.mean(squares, dtype=squares.dtype)


def _mse_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    difference = self - target
    if reduction == "mean":
        return g * difference * (2.0 / max(int(np.prod(difference.shape)), 1))
    return g * difference * 2.0


function(
    "_mse_loss", _mse_loss, node="MseLossBackward0", promote="common",
    self=_mse_slope, target=lambda g, self, target, reduction: -_mse_slope(g, self, target, reduction),
)  # fmt: skip

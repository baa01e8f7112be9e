"""Softmax and its logarithm along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.halves import rounded_once
from ...kernels.sums import sums_along, sums_of_products
from ...table.rows import function
from ..reductions.reduce import axes_of


@rounded_once()
def _softmax(self: Any, dim: int) -> Any:
    if not self.size or not self.ndim:
        return self.copy() if not self.size else np.exp(self - self)
    axis = axes_of(dim, self.ndim)[0]
    if _is_bounded(self):
        e = np.exp(self)
    else:
        e = self - _maxima_along(self, axis)
        np.exp(e, out=e)
    e /= sums_along(e, axis)
    return e


def _maxima_along(x: Any, axis: int) -> Any:
    """Maxima along an axis, which stays; short rows are laid out by columns first (1024 x 10: 13 for 83 µs)."""
    if x.ndim == 2 and axis in (1, -1) and x.shape[1] <= 32:
        x = np.asfortranarray(x)
    return np.maximum.reduce(x, axis=axis, keepdims=True)


def _is_bounded(x: Any) -> bool:
    """Whether no exponential nor any sum of them can overflow or vanish, so that the rows' maxima need not be known.

    Two reductions of everything cost a fifth of the maxima of short rows and their subtraction.
    """
    bound = {"f": 40, "d": 300}.get(x.dtype.char, 0)
    return bool(bound) and bool(np.maximum.reduce(x, axis=None) < bound and np.minimum.reduce(x, axis=None) > -bound)


def _softmax_grad(g: Any, result: Any, dim: int) -> Any:
    if not isinstance(g, np.ndarray) or g.dtype.char not in "fd" or dim not in (-1, g.ndim - 1) or not g.ndim:
        if isinstance(g, np.ndarray):
            return _softmax_back(g, result, dim)
        return F._softmax_back(g, result, dim)
    gi = g - sums_of_products(g, result)[..., None]
    gi *= result
    return gi


@rounded_once(operands=2)
def _softmax_back(grad_output: Any, output: Any, dim: int) -> Any:
    return output * (grad_output - F._sum_dim(grad_output * output, dim, True))


function(
    "_softmax_back", _softmax_back, node="SoftmaxBackwardDataBackward0", tensors="grad_output output",
    grad_output=lambda g, output, dim: F._softmax_back(g, output, dim),
    output=lambda g, grad_output, output, dim: (
        g * (grad_output - F._sum_dim(grad_output * output, dim, True))
        - F._sum_dim(g * output, dim, True) * grad_output
    ),
)  # fmt: skip
function("_softmax", _softmax, self=_softmax_grad, kinds="f", layout="rows")


@rounded_once()
def _log_softmax(self: Any, dim: int) -> Any:
    if not self.size or not self.ndim:
        return self.copy() if not self.size else self - self
    axis = dim if 0 <= dim < self.ndim else axes_of(dim, self.ndim)[0]
    z = self - _maxima_along(self, axis)
    z -= np.log(sums_along(np.exp(z), axis))
    return z


def _log_softmax_grad(g: Any, result: Any, dim: int) -> Any:
    """``g - exp(result) * sum(g)``; one function, since after large arrays each call takes 0.5 µs and more."""
    if g.__class__ is not np.ndarray:
        return F._log_softmax_back(g, result, dim)
    if not g.ndim:
        return g - np.exp(result) * g
    gi = np.exp(result)
    gi *= sums_along(g, dim)
    return np.subtract(g, gi, out=gi)


function("_log_softmax", _log_softmax, kinds="f", self=_log_softmax_grad, layout="rows")
function(
    "_log_softmax_back", lambda grad_output, output, dim: _log_softmax_grad(grad_output, output, dim),
    node="LogSoftmaxBackwardDataBackward0", tensors="grad_output output",
    grad_output=lambda g, output, dim: g - F._sum_dim(g * F.exp(output), dim, True),
    output=lambda g, grad_output, output, dim: -g * F.exp(output) * F._sum_dim(grad_output, dim, True),
)  # fmt: skip

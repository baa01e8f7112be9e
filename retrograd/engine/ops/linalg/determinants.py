"""Determinants, and their signs and logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.absent import AbsentMemory
from ...core.base import TensorBase, wrap
from ...core.dtypes import numpy_dtype_of
from ...core.registry import F
from ...rules.matrix_checks import check_square, takes_empty
from ...table.rows import function
from ..pointwise.arithmetic import conj, raw
from ..reductions.sums import product_of_others
from .products import adjoint
from .solving import FACTORS, creates_graph


@takes_empty("linalg.det")
def _det(self: Any) -> Any:
    check_square("linalg.det", self)
    return np.where(_unknown(self), _nan(self.dtype), np.linalg.det(self))


def _unknown(matrices: Any) -> Any:
    """Which matrices hold a NaN: their determinants are NaN, but LAPACK calls some of them singular."""
    return np.isnan(matrices).any((-1, -2))


def _nan(dtype: Any) -> Any:
    return dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)


def _known(self: Any, g: Any) -> tuple[Any, Any]:
    """Matrices without those that nothing can invert (they hold a NaN), and gradients that are NaN for them."""
    unknown = _unknown(raw(self))
    if not unknown.any():
        return self, g
    one, spoilt = np.eye(self.shape[-1], dtype=raw(self).dtype), np.where(unknown, np.nan, 1.0)
    spoilt = spoilt.astype(raw(g).dtype)
    if not isinstance(self, TensorBase):
        return np.where(unknown[..., None, None], one, self), g * spoilt
    return F._where(wrap(unknown[..., None, None]), wrap(one), self), g * wrap(spoilt)


def _last_two(g: Any) -> Any:
    return F.unsqueeze(F.unsqueeze(g, -1), -1)


def _over_adjoint(g: Any, self: Any) -> Any:
    """A number for each matrix times the inverse of its adjoint.

    Singular matrices are refused where a graph is created; else they get the infinities of elimination.
    """
    have = numpy_dtype_of(self)
    g = g if numpy_dtype_of(g) == have else F._to_copy(g, have)  # the logarithm of a size is real
    on_diagonal = F.diag_embed(F.expand(F.unsqueeze(g, -1), tuple(self.shape[:-1])))
    return F._solve(adjoint(self), on_diagonal, True, creates_graph(self))


def _det_back(g: Any, self: Any, result: Any) -> Any:
    if 0 in self.shape:
        return F.zeros_like(self)
    absent = getattr(self, "_array", None).__class__ is AbsentMemory
    self, g = (self, g) if absent else _known(self, g)
    if absent or _is_invertible(raw(self), raw(result)):
        return _over_adjoint(g * conj(result), self)
    return _cofactors(self) * _last_two(g)


def _is_invertible(values: Any, determinant: Any) -> bool:
    """Whether determinants are not so small that dividing by them would say nothing."""
    sizes = np.abs(values).max((-1, -2)) ** values.shape[-1]
    return not bool((np.abs(determinant) <= sizes * np.finfo(values.dtype).eps * 10).any())


def _cofactors(self: Any) -> Any:
    """Conjugated cofactors by singular values, which also holds for singular matrices."""
    u, s, vh = F._svd(self, False)
    turn = F._det(u) * F._det(vh)
    others = product_of_others(s, len(s.shape) - 1)
    return F._matmul(u * F.unsqueeze(others * F.ones_like(s), -2), vh) * _last_two(conj(turn))


function("_det", _det, node="LinalgDetBackward0", as_given=True, self=_det_back, for_hooks=FACTORS)


def _slogdet(self: Any) -> Any:
    check_square("linalg.slogdet", self)
    sign, log = np.linalg.slogdet(self)
    unknown, no_sign = _unknown(self), _nan(self.dtype) if self.dtype.kind == "c" else self.dtype.type(0)
    log = np.where(unknown, log.dtype.type(np.nan), log)
    return np.where(unknown, no_sign, sign), log


def _slogdet_back(g: Any, self: Any, sign: Any) -> Any:
    turn, grow = g
    if raw(sign).dtype.kind == "c" and turn is not None:
        angle = -F.imag(conj(turn) * sign)
        grow = F._complex(F.zeros_like(angle) if grow is None else grow, angle)
    if grow is None:  # the sign of a real determinant does not change
        return None
    return _over_adjoint(*_known(self, grow)[::-1])


function("_slogdet", _slogdet, node="LinalgSlogdetBackward0", as_given=True, results="sign logabsdet", undefined=True,
         self=_slogdet_back, for_hooks=FACTORS)  # fmt: skip

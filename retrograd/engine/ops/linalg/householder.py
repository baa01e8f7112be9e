"""Products of Householder reflections ``H = 1 - tau v v^H``, as LAPACK keeps them below a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import function
from ...tensors.base import TensorBase, wrap
from .products import adjoint


def _reflection(vectors: Any, tau: Any, i: int) -> tuple[Any, Any]:
    """The ``i``-th column ``v``, with its 1 and the zeros above, and its ``tau``, in shapes that multiply matrices."""
    rows = vectors.shape[-2]
    unit: Any = np.zeros((rows, 1), np.float32)
    unit[i] = 1
    below = F.tril(F._slice(vectors, -1, i, i + 1, 1), -i - 1)
    if isinstance(below, TensorBase):
        return below + wrap(unit.astype(below._sig.numpy)), F.unsqueeze(F._slice(tau, -1, i, i + 1, 1), -1)
    return below + unit.astype(below.dtype), tau[..., i : i + 1, None]


def _steps(vectors: Any, tau: Any, start: Any, order: Sequence[int], turned: bool) -> list[Any]:
    """What is there after each of the reflections (their adjoints, if ``turned``), first what was there before."""
    found = [start]
    for i in order:
        v, scale = _reflection(vectors, tau, i)
        scale = F.conj(scale) if turned else scale
        last = found[-1]
        found.append(last - F._matmul(v * scale, F._matmul(adjoint(v), last)))
    return found


def _steps_back(g: Any, vectors: Any, tau: Any, start: Any, order: Sequence[int], turned: bool) -> tuple[Any, Any]:
    """The gradients of ``vectors`` and ``tau``, from that of the last of the steps."""
    states = _steps(vectors, tau, start, order, turned)
    columns: dict[int, Any] = {}
    scales: dict[int, Any] = {}
    for before, i in zip(states[-2::-1], reversed(order), strict=True):
        v, scale = _reflection(vectors, tau, i)
        scale = F.conj(scale) if turned else scale
        row, into = F._matmul(adjoint(v), before), F._matmul(adjoint(v), g)
        of_scale = -F._matmul(into, adjoint(row))
        scales[i] = F.conj(of_scale) if turned else of_scale
        of_vector = F.conj(scale) * F._matmul(g, adjoint(row)) + scale * F._matmul(before, adjoint(into))
        columns[i] = F.tril(-of_vector, -i - 1)
        g = g - F._matmul(v * F.conj(scale), into)
    rest = F.zeros_like(F._slice(vectors, -1, len(order), vectors.shape[-1], 1))
    into_vectors = F.cat([*[columns[i] for i in range(len(order))], rest], -1)
    into_tau = F._squeeze_dim(F.cat([scales[i] for i in range(len(order))], -2), -1) if order else F.zeros_like(tau)
    return into_vectors, into_tau


def _eye(vectors: Any) -> Any:
    kind = vectors._sig.numpy if isinstance(vectors, TensorBase) else vectors.dtype
    eye = np.array(np.broadcast_to(np.eye(*vectors.shape[-2:], dtype=kind), tuple(vectors.shape)))
    return wrap(eye) if isinstance(vectors, TensorBase) else eye


def _householder_product(self: Any, tau: Any) -> Any:
    return _steps(self, tau, _eye(self), range(tau.shape[-1])[::-1], False)[-1]


def _householder_grads(g: Any, needs: Any, self: Any, tau: Any) -> Any:
    return _steps_back(g, self, tau, _eye(self), range(tau.shape[-1])[::-1], False)


function("_householder_product", _householder_product, node="LinalgHouseholderProductBackward0", as_given=True,
         tensors="self tau",
         joint=_householder_grads, keeps="result", layout="columns")  # fmt: skip


def _order(tau: Any, left: bool, transpose: bool) -> tuple[Sequence[int], bool]:
    """In which order the reflections meet what they multiply from the left, and whether their adjoints do."""
    turned = left == transpose
    count = range(tau.shape[-1])
    return count if turned else count[::-1], turned


def _ormqr(self: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of reflections times ``other``, or, adjoint to that of their adjoints, the other way round."""
    found = _steps(self, tau, other if left else adjoint(other), *_order(tau, left, transpose))[-1]
    return found if left else adjoint(found)


def _ormqr_grads(g: Any, needs: Any, self: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    into_other = F._ormqr(self, tau, g, left, not transpose) if needs[2] else None
    if not (needs[0] or needs[1]):
        return None, None, into_other
    sides = (g, other) if left else (adjoint(g), adjoint(other))
    return *_steps_back(sides[0], self, tau, sides[1], *_order(tau, left, transpose)), into_other


function("_ormqr", _ormqr, node="OrmqrBackward0", as_given=True,
         tensors="self tau other", joint=_ormqr_grads, keeps="result",
         layout="columns")  # fmt: skip

"""Singular values and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.views import requires_grad
from ...core.base import TensorBase
from ...core.registry import F
from ...rules.matrix_checks import LinAlgError, check_dtype, check_matrix, takes_empty
from ...table.rows import function
from ..pointwise.arithmetic import raw
from .products import adjoint


@takes_empty("linalg.svd")
def _svd(self: Any, full_matrices: bool = True) -> Any:
    check_dtype("linalg.svd", self)
    check_matrix("linalg.svd", "A", self)
    try:
        u, s, vh = np.linalg.svd(self, full_matrices=full_matrices)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.svd: The algorithm failed to converge: {error}") from None
    return u, s, vh


def absent(g: Any) -> bool:
    """Whether no gradient came for an output, so that terms which may divide by zero are left out."""
    return not (isinstance(g, TensorBase) and requires_grad(g)) and not raw(g).any()


def gaps(values: Any) -> Any:
    """``v_j - v_i``, with ones on the diagonal."""
    return F.unsqueeze(values, -2) - F.unsqueeze(values, -1) + F.diag_embed(F.ones_like(values))


def _skew(x: Any) -> Any:
    return x - adjoint(x)


def _svd_back(g: Any, self_sizes: Any, S: Any, U: Any, Vh: Any) -> Any:
    """The gradient of ``A = U diag(S) Vh``; U and Vh count up to a phase that they share, which is checked."""
    (gu, gs, gvh), (u, s, vh) = g, (U, S, Vh)
    m, n = self_sizes[-2:]
    k = min(m, n)
    u, gu = F._slice(u, -1, 0, k), F._slice(gu, -1, 0, k)
    vh, gvh = F._slice(vh, -2, 0, k), F._slice(gvh, -2, 0, k)
    if absent(gu) and absent(gvh):
        return F._matmul(u * F.unsqueeze(gs, -2), vh)
    _check_phase(gu, gvh, u, vh)
    left = _skew(F._matmul(adjoint(u), gu))
    right = _skew(F._matmul(vh, adjoint(gvh)))
    inner = (left * F.unsqueeze(s, -2) + F.unsqueeze(s, -1) * right) / gaps(s * s) + F.diag_embed(gs)
    if raw(u).dtype.kind == "c":
        inner = inner + F.diag_embed(F.diagonal(left, 0, -2, -1) / (2 * s))
    if m > k:
        beyond = gu - F._matmul(u, F._matmul(adjoint(u), gu))
        return F._matmul(F._matmul(u, inner) + beyond / F.unsqueeze(s, -2), vh)
    if n > k:
        beyond = gvh - F._matmul(F._matmul(gvh, adjoint(vh)), vh)
        return F._matmul(u, F._matmul(inner, vh) + beyond / F.unsqueeze(s, -1))
    return F._matmul(u, F._matmul(inner, vh))


def _check_phase(gu: Any, gvh: Any, u: Any, vh: Any) -> None:
    """Complex singular vectors are known up to a phase; a loss that depends on it has no gradient."""
    a, b = raw(u), raw(vh)
    if a.dtype.kind != "c":
        return
    turned = np.einsum("...ij,...ij->...j", a.conj(), raw(gu)) + np.einsum("...ij,...ij->...i", b, raw(gvh).conj())
    refuse_phase("svd_backward: The singular vectors", turned)


def refuse_phase(which: str, turned: Any) -> None:
    """Refuse a gradient by the phases of vectors: ``turned`` holds each vector's product with its own gradient."""
    if not np.allclose(turned.imag, 0, atol=1e-2):
        raise RuntimeError(
            f"{which} in the complex case are specified up to multiplication by e^{{i phi}}. "
            "The specified loss function depends on this quantity, so it is ill-defined."
        )


function(
    "_svd",
    _svd,
    node="LinalgSvdBackward0",
    as_given=True,
    results="U S Vh",
    self=_svd_back,
    keeps="full_matrices",
    layout="columns",
)

"""Eigenvalues and eigenvectors, of symmetric matrices and of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.absent import AbsentMemory
from ...core.dtypes import scalar_name
from ...core.registry import F
from ...rules.by_number import times
from ...rules.matrix_checks import LinAlgError, check_square, takes_empty
from ...table.rows import function
from ..pointwise.arithmetic import conj, raw
from .products import adjoint
from .singular_values import absent, gaps, refuse_phase


@takes_empty("linalg.eigh")
def _eigh(self: Any, UPLO: str = "L") -> Any:  # noqa: N803
    check_square("linalg.eigh", self)
    triangle: Any = UPLO
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    try:
        values, vectors = np.linalg.eigh(self, triangle)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.eigh: The algorithm failed to converge: {error}") from None
    return values, vectors


def _check_phase(name: str, inner: Any) -> None:
    """Complex eigenvectors are known up to a phase; a loss that depends on it has no gradient."""
    values = raw(inner)
    if values.__class__ is not AbsentMemory and values.dtype.kind == "c":
        refuse_phase(f"{name}: The eigenvectors", np.diagonal(values, 0, -2, -1))


def _eigh_back(g: Any, result: Any) -> Any:
    (gl, gv), (values, v) = g, result
    if absent(gv):
        return F._matmul(v * F.unsqueeze(gl, -2), adjoint(v))
    inner = F._matmul(adjoint(v), gv)
    _check_phase("linalg_eigh_backward", inner)
    inner = inner / gaps(values)
    inner = inner - F.diag_embed(F.diagonal(inner, 0, -2, -1)) + F.diag_embed(gl)
    full = F._matmul(v, F._matmul(inner, adjoint(v)))
    return times(full + adjoint(full), 0.5)


def _eigh_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    values, v = results
    inner = F._matmul(adjoint(v), F._matmul(tangents[0], v))
    along = F.diagonal(inner, 0, -2, -1)
    turned = (inner - F.diag_embed(along)) / gaps(values)
    return F.real(along) if raw(along).dtype.kind == "c" else along, F._matmul(v, turned)


function(
    "_eigh",
    _eigh,
    node="LinalgEighBackward0",
    as_given=True,
    outputs=2,
    self=_eigh_back,
    jvp=_eigh_jvp,
    layout="columns",
)


def _eig(self: Any) -> Any:
    if self.dtype.kind not in "fc":
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(self.dtype)}")
    check_square("linalg.eig", self)
    values, vectors = np.linalg.eig(self)
    kind = np.result_type(self.dtype, np.complex64)
    return values.astype(kind), vectors.astype(kind)


def _eig_back(g: Any, result: Any) -> Any:
    (gl, gv), (values, v) = g, result
    vh = adjoint(v)
    if not absent(gv):
        inner = F._matmul(vh, gv)
        _check_phase("linalg_eig_backward", inner)
        along = F.real(F.diagonal(inner, 0, -2, -1))
        inner = (inner - F._matmul(vh, v * F.unsqueeze(along, -2))) / conj(gaps(values))
        inner = inner - F.diag_embed(F.diagonal(inner, 0, -2, -1)) + F.diag_embed(gl)
    else:
        inner = F.diag_embed(gl)
    return F._solve(vh, F._matmul(inner, vh), True)


function("_eig", _eig, node="LinalgEigBackward0", as_given=True, outputs=2, self=_eig_back, layout="columns")

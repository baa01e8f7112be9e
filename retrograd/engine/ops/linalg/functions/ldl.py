"""``ldl_factor``, ``ldl_factor_ex`` and ``ldl_solve`` of ``torch.linalg``: factors of symmetric matrices."""

from __future__ import annotations

from typing import Any

from ....calls.out_argument import Out
from ....core.registry import F
from ....return_types import named
from ....rules.matrix_checks import LinAlgError
from ....table.public import check_tensor, public


@public("ldl_factor_ex", namespace="linalg", out=True)
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """``A = L D L^T`` (with ``hermitian`` ``L D L^H``) of symmetric matrices, and which block of ``D`` is singular."""
    check_tensor("linalg_ldl_factor_ex", A)
    found: Any = named("linalg_ldl_factor_ex", *F._linalg_ldl_factor_ex(A, hermitian))
    if check_errors and found.info._array.any():
        raise LinAlgError(
            f"linalg.ldl_factor_ex: The factorization completed, but the block D({int(found.info.max())}) is exactly "
            "zero; dividing by it gives infinities"
        )
    return found


@public("ldl_factor", namespace="linalg", out=True)
def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:  # noqa: N803
    """``A = L D L^T`` of symmetric (or Hermitian) matrices, in the compact form of LAPACK."""
    return named("linalg_ldl_factor", *ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2])


@public("ldl_solve", namespace="linalg", out=Out(exact=True))
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` from what ``ldl_factor`` gave for ``A``."""
    check_tensor("linalg_ldl_solve", LD, name="LD")
    if B.ndim < 2:
        raise RuntimeError(
            f"linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions"
        )
    if tuple(LD.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    return F._linalg_ldl_solve(LD, pivots, B, hermitian)

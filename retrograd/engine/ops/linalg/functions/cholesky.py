"""Cholesky factors, and systems solved by them."""

from __future__ import annotations

from typing import Any

from ....calls.out_argument import Out
from ....core.base import wrap
from ....core.registry import F
from ....deprecations import discourage
from ....return_types import named
from ....rules.matrix_checks import LinAlgError
from ....table.public import public
from ..factorizations import bad_minors
from .info import zero_info
from .matrix_functions import check_same_dtype


@public("cholesky", namespace="linalg", out=True)
def cholesky(A: Any, *, upper: bool = False) -> Any:  # noqa: N803
    """The triangular factor of positive-definite matrices."""
    return F._cholesky_ex(A, upper)


@public("cholesky_ex", namespace="linalg", out=True)
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """The triangular factor, and zeros that say that it went well (otherwise the order of the bad leading minor)."""
    try:
        return named("linalg_cholesky_ex", F._cholesky_ex(A, upper), zero_info(A))
    except LinAlgError:
        if check_errors:
            raise
    half = A._array.mT.conj() if upper else A._array
    return named("linalg_cholesky_ex", F._cholesky_ex(A, upper, False), wrap(bad_minors(half)))


@public("cholesky", out=Out(rows=True))
def old_cholesky(input: Any, upper: bool = False) -> Any:  # noqa: A002
    """The triangular factor of positive-definite matrices."""
    discourage("cholesky")
    return F._cholesky_old(input, upper)


@public("cholesky_solve", out=Out(rows=True))
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:  # noqa: A002
    """``X`` with ``A X = input``, given the triangular factor ``input2`` of ``A``."""
    for name, t in (("b", input), ("u", input2)):
        if t.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions instead")
    check_same_dtype("Expected b and A", ("b", input), ("A", input2))
    if input2.shape[-1] != input2.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {input2.shape[-2]} by {input2.shape[-1]} matrices"
        )
    if input2.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} "
            f"but each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    return F.cholesky_solve(input, input2, upper)

"""Inverses and pseudo-inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_rules import Out
from ....return_types import named
from ....rules.matrix_checks import LinAlgError
from ....table.public import public
from ....table.registry import F
from ..solving import no_inverse
from .info import first_zero_pivot, zero_info
from .tolerances import tolerance_of


@public("inv", namespace="linalg", out=True)
def inv(A: Any) -> Any:  # noqa: N803
    """The inverse of matrices."""
    return F._inv(A)


@public("inv_ex", namespace="linalg", out=True)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:  # noqa: N803
    """The inverse, and zeros that say that it went well."""
    try:
        return named("linalg_inv_ex", F._inv(A), zero_info(A))
    except LinAlgError:
        if check_errors:
            raise no_inverse("linalg.inv_ex", A._array) from None
    return named("linalg_inv_ex", F._inv(A, False), first_zero_pivot(A))


@public("pinv", namespace="linalg", out=True)
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:  # noqa: N803
    """The pseudo-inverse of matrices."""
    return F._pinv(A, tolerance_of(atol), tolerance_of(rtol if rcond is None else rcond), hermitian)


@public("pinverse")
def pinverse(input: Any, rcond: float = 1e-15) -> Any:  # noqa: A002
    """The pseudo-inverse of matrices."""
    return F._pinv(input, None, rcond)


@public("tensorinv", namespace="linalg", out=Out(copied=True))
def tensorinv(A: Any, ind: int = 2) -> Any:  # noqa: N803
    """The inverse with respect to ``tensordot`` over the first ``ind`` dimensions."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    rows, columns = int(np.prod(first)), int(np.prod(last))
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return F._inv(A.reshape(rows, columns)).reshape(*last, *first)

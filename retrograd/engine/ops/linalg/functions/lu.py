"""LU factors, and systems solved by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_argument import Out
from ....calls.refusals import refuse
from ....core.absent import known_values
from ....core.base import wrap
from ....core.registry import F
from ....deprecations import discourage
from ....return_types import named
from ....rules.matrix_checks import check_matrix, check_sides
from ....table.public import public
from ..lu import check_factorable, permutation_of
from .info import first_zero_of_factors
from .matrix_functions import check_same_dtype


@public("lu", namespace="linalg", out=True)
def linalg_lu(A: Any, *, pivot: bool = True) -> Any:  # noqa: N803
    """``P``, ``L`` and ``U`` with ``A = P L U``."""
    check_factorable("linalg.lu", A)
    lower, upper, p = F._lu(A, pivot)
    return named("linalg_lu", p, lower, upper)


def _check_pivoting(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@public("lu_factor", namespace="linalg", out=True)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:  # noqa: N803
    """Both factors in one matrix, and the row exchanges."""
    both, pivots, _info = _factors("torch.linalg.lu_factor", A, pivot, checked=True)
    return named("linalg_lu_factor", both, pivots)


def _factors(name: str, A: Any, pivot: bool, *, checked: bool) -> tuple[Any, Any, Any]:  # noqa: N803
    """The factors, and which pivot is zero: ``RuntimeError`` for one, where somebody checks."""
    _check_pivoting(pivot)
    both, pivots = F._lu_factor(A, pivot)
    info = first_zero_of_factors(both)
    if checked and known_values(info).any():
        batch = int(np.flatnonzero(info._array)[0])
        which, at = f"(Batch element {batch}): " * bool(info.ndim), int(info._array.flat[batch])
        raise RuntimeError(
            f"{name}: {which}U[{at},{at}] is zero and using it on lu_solve would result in a division by zero. If you "
            "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return both, pivots, info


@public("lu_factor_ex", namespace="linalg", out=True)
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """``lu_factor``, and which pivot is zero; 0 where it went well."""
    return named("linalg_lu_factor_ex", *_factors("torch.linalg.lu_factor_ex", A, pivot, checked=check_errors))


@public("lu", out=True)
def old_lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:  # noqa: N803
    """``linalg.lu_factor`` under its old name."""
    discourage("lu")
    both, pivots = F._lu_factor(A, pivot)
    return named("_lu_with_info", both, pivots, first_zero_of_factors(both)) if get_infos else (both, pivots)


@public("lu_unpack", method=False, out=Out(exact=True))
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:  # noqa: N803
    """``P``, ``L`` and ``U`` from ``lu_factor``'s results."""
    check_factorable("torch.lu_unpack", LU_data)
    refuse(
        unpack_pivots and LU_pivots._sig.numpy != np.int32,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this function is "
        "intended to be used with the output produced by torch.linalg.lu_factor",
    )
    if not unpack_data:
        turn = permutation_of(LU_pivots._array, LU_data.shape[-2], LU_data._sig.numpy)
        return named("lu_unpack", wrap(turn), *(wrap(np.zeros(0, turn.dtype)) for _ in range(2)))
    lower, upper, p = F._lu_unpack(LU_data, LU_pivots)
    return named("lu_unpack", p if unpack_pivots else wrap(np.zeros(0, LU_data._sig.numpy)), lower, upper)


def _check_factors(LU: Any, pivots: Any, B: Any, left: bool) -> None:  # noqa: N803
    """``RuntimeError`` unless factors and pivots belong together, and the other side fits them."""
    refuse(pivots._sig.numpy != np.int32, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_same_dtype("linalg.lu_solve: Expected LU and B", ("LU", LU), ("B", B))
    check_matrix("torch.linalg.lu_solve", "A", LU)
    check_sides("torch.linalg.lu_solve", LU)
    rows = LU.shape[-1]
    check_matrix("linalg.lu_solve", "B", B)
    refuse(
        tuple(pivots.shape[-1:]) != (rows,),
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix",
    )
    refuse(
        tuple(pivots.shape) != tuple(LU.shape[:-1]),
        "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
        f"{list(pivots.shape)} instead",
    )
    refuse(
        B.shape[-2 if left else -1] != rows,
        f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
        f"({rows}x{rows} and {B.shape[-2]}x{B.shape[-1]})",
    )


@public("lu_solve", namespace="linalg", out=Out(exact=True))
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:  # noqa: N803
    """``X`` with ``A X = B``, given the factors of ``A``."""
    _check_factors(LU, pivots, B, left)
    return F._lu_solve(LU, pivots, B, left, adjoint)


@public("lu_solve", out=Out(exact=True))
def old_lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:  # noqa: N803
    """``linalg.lu_solve`` under its old name."""
    found = lu_solve(LU_data, LU_pivots, b)
    discourage("lu_solve")
    return found

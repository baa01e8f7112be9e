"""QR factors, and the Householder reflections that they are products of."""

from __future__ import annotations

from typing import Any

from ....calls.out_rules import Out
from ....calls.refusals import refuse_kind
from ....deprecations import discourage
from ....return_types import named
from ....table.public import public
from ....table.registry import F
from ....tensors.dtype_names import scalar_name


@public("qr", namespace="linalg", out=True)
def qr(A: Any, mode: str = "reduced") -> Any:  # noqa: N803
    """Orthogonal and triangular factors."""
    return named("linalg_qr", *F._qr(A, mode))


@public("qr", out=True)
def old_qr(input: Any, some: bool = True) -> Any:  # noqa: A002
    """``linalg.qr`` under its old name."""
    discourage("qr")
    return named("qr", *F._qr(input, "reduced" if some else "complete"))


@public("geqrf", out=Out(rows=True))
def geqrf(input: Any) -> Any:  # noqa: A002
    """Householder reflections of a QR decomposition, without gradient."""
    return named("geqrf", *F._geqrf(input))


def _check_reflections(name: str, A: Any, tau: Any) -> None:  # noqa: N803
    """``RuntimeError`` unless ``A`` ``(..., m, n)`` and ``tau`` ``(..., k)`` can be Householder reflections."""
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if tau.ndim != A.ndim - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {A.ndim}"
        )
    if tuple(tau.shape[:-1]) != tuple(A.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau._sig.numpy != A._sig.numpy:
        raise RuntimeError(f"{name}: tau dtype {scalar_name(tau._sig.numpy)} does not match input dtype "
                           f"{scalar_name(A._sig.numpy)}")  # fmt: skip


@public("householder_product", namespace="linalg", out=Out(rows=True))
def householder_product(A: Any, tau: Any) -> Any:  # noqa: N803
    """The first columns of a product of Householder reflections."""
    name = "torch.linalg.householder_product"
    _check_reflections(name, A, tau)
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    refuse_kind("orgqr_cpu", A._sig.numpy, "wc")
    return F._householder_product(A, tau)


@public("orgqr", out=Out(rows=True))
def orgqr(input: Any, tau: Any) -> Any:  # noqa: A002
    """``linalg.householder_product`` under its old name."""
    return householder_product(input, tau)


@public("ormqr", out=Out(rows=True))
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:  # noqa: A002
    """A product of Householder reflections times ``other`` (or the other way round)."""
    name = "torch.ormqr"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    m, across = input.shape[-2], -2 if left else -1
    if other.shape[across] < tau.shape[-1]:
        raise RuntimeError(f"{name}: other.shape[{across}] must be greater than or equal to tau.shape[-1]")
    if other.shape[across] != m:
        raise RuntimeError(f"{name}: other.shape[{across}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[across], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{across}], input.shape[-1])")
    _check_reflections(name, input, tau)
    if other._sig.numpy != input._sig.numpy:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but input has dtype"
            f"{scalar_name(input._sig.numpy)} and other has dtype {scalar_name(other._sig.numpy)}"
        )
    refuse_kind("ormqr_cpu", input._sig.numpy, "wc")
    return F._ormqr(input, tau, other, left, transpose)

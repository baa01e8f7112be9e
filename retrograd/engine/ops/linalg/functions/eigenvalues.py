"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Any

from ....calls.out_rules import Out
from ....return_types import named
from ....table.public import public
from ....table.registry import F


@public("eigh", namespace="linalg", out=Out(exact=True))
def eigh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of hermitian matrices."""
    return named("linalg_eigh", *F._eigh(A, UPLO))


@public("eigvalsh", namespace="linalg", out=True)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues of hermitian matrices."""
    return F._eigh(A, UPLO)[0]


@public("eig", namespace="linalg", out=Out(rows=True))
def eig(A: Any) -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of square matrices, complex."""
    return named("linalg_eig", *F._eig(A))


@public("eigvals", namespace="linalg", out=True)
def eigvals(A: Any) -> Any:  # noqa: N803
    """Eigenvalues of square matrices, complex."""
    return F._eig(A)[0]

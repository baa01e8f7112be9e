"""Singular value decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_rules import Out
from ....return_types import named
from ....table.public import public
from ....table.registry import F
from ....tensors.base import wrap
from ..products import adjoint


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@public("svd", namespace="linalg", out=Out(exact=True))
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: N803
    """Singular vectors and values."""
    _check_driver(driver)
    return named("linalg_svd", *F._svd(A, full_matrices))


@public("svd", out=Out(exact=True))
def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:  # noqa: A002
    """``linalg.svd`` under its old name, which gives ``V`` rather than its adjoint."""
    u, s, vh = F._svd(input, not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        kind = input._sig.numpy
        return named(
            "svd", wrap(np.zeros((*input.shape[:-2], m, m), kind)), s, wrap(np.zeros((*input.shape[:-2], n, n), kind))
        )
    return named("svd", u, s, adjoint(vh))


@public("svdvals", namespace="linalg", out=True)
def svdvals(A: Any, *, driver: str | None = None) -> Any:  # noqa: N803
    """Singular values."""
    _check_driver(driver)
    return F._svd(A, False)[1]

"""SPEC E, linear algebra: a kernel that does not run refuses no dtype, so empty matrices of any dtype are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

real_torch = pytest.importorskip("torch")

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda L, a: L.cholesky(a),
    "cholesky_ex": lambda L, a: L.cholesky_ex(a),
    "eigh": lambda L, a: L.eigh(a),
    "eigvalsh": lambda L, a: L.eigvalsh(a),
    "eig": lambda L, a: L.eig(a),
    "lu": lambda L, a: L.lu(a),
    "lu_factor": lambda L, a: L.lu_factor(a),
    "det": lambda L, a: L.det(a),
    "inv": lambda L, a: L.inv(a),
    "svd": lambda L, a: L.svd(a),
    "svdvals": lambda L, a: L.svdvals(a),
    "qr": lambda L, a: L.qr(a),
    "solve": lambda L, a: L.solve(a, a),
    "ldl_factor": lambda L, a: L.ldl_factor(a),
    "matrix_rank": lambda L, a: L.matrix_rank(a),
    "matrix_norm": lambda L, a: L.matrix_norm(a, 2),
}  # fmt: skip


def _outcome(torch: Any, name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """Shapes and dtypes of the results, or the class of the error."""
    try:
        found = CALLS[name](torch.linalg, torch.zeros(shape, dtype=getattr(torch, dtype)))
    except Exception as error:
        return type(error).__name__
    results = [found] if isinstance(found, torch.Tensor) else found
    return [(tuple(t.shape), str(t.dtype).rpartition(".")[2]) for t in results]


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_refused_by_kernels_that_run(name: str) -> None:
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3), (2, 2)):
        for dtype in ("float16", "int64", "bool"):
            ours, theirs = (_outcome(t, name, shape, dtype) for t in (retrograd, real_torch))
            assert ours == theirs, (shape, dtype)

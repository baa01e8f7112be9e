"""``grouped_mm`` of ``torch.nn.functional``: a matrix product for each of several groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....table.public import NN, check_tensor, public
from ....table.registry import F


def _check(a: Any, b: Any, offs: Any, out_dtype: Any) -> None:
    for name, t in (("mat_a", a), ("mat_b", b)):
        check_tensor("grouped_mm", t, name=name)
        refuse(
            t._sig.numpy.name not in ("float32", "float16", "bfloat16"),
            f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {t.dtype}",
        )
        refuse(t.ndim not in (2, 3), f"{name} has to be 2 or 3d")
    refuse(a.shape[-1] != b.shape[-2], "contraction dimension of mat_a and mat_b must match")
    refuse(
        (offs is None) == (2 in (a.ndim, b.ndim)),
        "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d",
    )
    refuse(offs is not None and offs._sig.numpy != np.int32, "Offsets have to be int32")
    refuse(out_dtype is not None and out_dtype != a.dtype, "Grouped gemm output dtype must match `mat_a` dtype")


@public("grouped_mm", namespace=NN)
def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """A product per group: batches, or pieces of a matrix that end before each of ``offs``.

    A matrix on the left is cut into rows, one on the right into columns, two matrices along what is summed.
    """
    _check(mat_a, mat_b, offs, out_dtype)
    refuse(bias is not None, "Bias not supported yet")
    if offs is None:
        return F.bmm(mat_a, mat_b)
    ends = offs._array.tolist()
    pieces = list(zip([0, *ends[:-1]], ends, strict=True))
    batches = [t.shape[0] for t in (mat_a, mat_b) if t.ndim == 3]
    refuse(any(n != len(ends) for n in batches), "matrix batch sizes have to match")
    if not batches:
        return F.stack([F.mm(F._slice(mat_a, 1, i, j), F._slice(mat_b, 0, i, j)) for i, j in pieces])
    if mat_a.ndim == 2:
        rows = [F.mm(F._slice(mat_a, 0, i, j), F.select(mat_b, 0, k)) for k, (i, j) in enumerate(pieces)]
        return _filled(F.cat(rows, 0), 0, mat_a.shape[0])
    columns = [F.mm(F.select(mat_a, 0, k), F._slice(mat_b, 1, i, j)) for k, (i, j) in enumerate(pieces)]
    return _filled(F.cat(columns, 1), 1, mat_b.shape[1])


def _filled(found: Any, dim: int, size: int) -> Any:
    """Zeros for what lies behind the last group."""
    missing = size - found.shape[dim]
    return F.constant_pad_nd(found, (0, 0, 0, missing) if dim == 0 else (0, missing)) if missing else found

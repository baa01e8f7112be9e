"""Rows that build CSR matrices and take them apart, through which gradients flow into their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..table.rows import linear
from .compressed import CompressedTensor, compressed
from .coo import ANSWERS, SparseTensor
from .rows import dense, entries_at


def _of_parts(values: Any, rows: Any, columns: Any, size: Any) -> CompressedTensor:
    return CompressedTensor.made(wrap(rows), wrap(columns), wrap(values), size)


def _at_places(g: Any, result: CompressedTensor) -> Any:
    """The gradient of the values."""
    return F._sparse_values(g) if isinstance(g, CompressedTensor) else entries_at(g, result.places())


linear("_sparse_compressed_tensor", _of_parts, tensors="values rows columns", sparse=True, public=False, keeps="values",
       values=lambda g, result: _at_places(g, result))  # fmt: skip


def _from_array(self: Any) -> CompressedTensor:
    if self.ndim != 2:
        raise RuntimeError(
            "to_sparse_csr: here only of matrices (of batches there is no form CSR), but the tensor has "
            f"{self.ndim} dimensions"
        )
    rows, columns = np.nonzero(self)
    found = SparseTensor.made(wrap(np.stack([rows, columns])), wrap(self[rows, columns]), self.shape, True)
    return compressed(found)


ANSWERS["to_sparse_csr"] = compressed
ANSWERS["csr_to_coo"] = lambda t: t
linear("_to_sparse_csr", _from_array, sparse=True, public=False, tensors="self",
       self=lambda g, self: _as_was(g, self))  # fmt: skip
linear("_csr_to_coo", _from_array, sparse=True, public=False, node="ToSparseBackward1", self=lambda g: g)


def _as_was(g: Any, was: Any) -> Any:
    """The gradient of what was compressed, in the form that it had."""
    if not isinstance(was, SparseTensor):
        return dense(g.to_sparse() if isinstance(g, CompressedTensor) else g)
    return g.to_sparse()

"""Diagonals, and indices of the elements of triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.base import wrap
from ....core.dtypes import scalar_name, to_numpy_dtype
from ....core.registry import F
from ....table.public import check_tensor, public


@public("diag", out=True)
def diag(input: Any, diagonal: int = 0) -> Any:  # noqa: A002
    """A vector on the diagonal of a matrix, or a copy of a matrix's diagonal."""
    check_tensor("diag", input)
    if input.ndim == 1:
        return F.diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return F._diagonal_copy(input, diagonal, 0, 1)


@public("diagflat")
def diagflat(input: Any, offset: int = 0) -> Any:  # noqa: A002
    """All elements on the diagonal of a matrix."""
    return F.diag_embed(input.reshape(-1), offset)


@public("fill_diagonal_", function=False)
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write one value on the main diagonal; in tall matrices with ``wrap`` on its repetitions, too."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    size = min(self.shape)
    self.as_strided((size,), (step,), self.storage_offset()).fill_(fill_value)
    rows, columns = self.shape[0], self.shape[1]
    if wrap and self.ndim == 2 and rows > columns + 1:
        left = self.numel() - (columns + 1) * columns
        more = -(-left // (columns + 1))
        below = self.storage_offset() + (columns + 1) * self.stride(0)
        self.as_strided((more,), (step,), below).fill_(fill_value)
    return self


def _publish_indices(name: str, mask: Callable[[int, int, int], Any]) -> None:
    """Publish ``tril_indices`` or ``triu_indices``; ``mask`` says which elements the triangle has."""

    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
    ) -> Any:
        for place, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{place} must be non-negative, got {n}")
        numpy = np.dtype(np.int64) if dtype is None else to_numpy_dtype(dtype)
        if numpy not in (np.int64, np.int32):
            raise NotImplementedError(f"\"{name}_indices\" not implemented for '{scalar_name(numpy)}'")
        return wrap(np.stack(np.nonzero(mask(row, col, offset))).astype(numpy))

    indices.__name__ = indices.__qualname__ = f"{name}_indices"
    indices.__doc__ = f"Rows and columns of the elements that {name} keeps."
    public(f"{name}_indices", method=False)(indices)


_publish_indices("tril", lambda row, col, offset: np.tri(row, col, offset, dtype=bool))
_publish_indices("triu", lambda row, col, offset: ~np.tri(row, col, offset - 1, dtype=bool))

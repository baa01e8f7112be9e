"""``TensorOfEntries``: base class of all sparse tensors."""

from __future__ import annotations

from typing import Any

from ..core.registry import F
from ..overriding.overrides import disabled_torch_function_impl
from ..tensors.tensor import Tensor


class TensorOfEntries(Tensor):
    """A tensor that stores the values of some entries; each format stores their positions in its own way."""

    _values_kept: Any

    __torch_function__ = disabled_torch_function_impl  # functions are those of all tensors

    def _nnz(self) -> int:
        return int(self._values_kept.shape[0])

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """All entries; with ``masked_grad=False`` gradients also reach places without an entry."""
        found = F._to_dense(self, masked_grad is not False)
        return found if dtype is None else found.to(dtype)

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: no array holds all entries."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def untyped_storage(self) -> Any:
        """Refused: their parts have one each."""
        raise NotImplementedError(
            "Cannot access storage of SparseTensorImpl: its parts have one each (values, indices)"
        )

    storage = _typed_storage = untyped_storage

    def data_ptr(self) -> int:
        """Refused: their parts have one each."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

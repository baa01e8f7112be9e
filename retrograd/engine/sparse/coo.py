"""``SparseTensor``: a tensor that holds the places and values of some entries; the others are 0.

To the rest of the engine it is a tensor without data whose class answers for every operator (``answers``). It is a
constant of the graph: gradients flow to the dense operands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..overriding.overrides import disabled_torch_function_impl
from ..overriding.subclasses import make_wrapper_subclass
from ..tensors.base import set_array, wrap
from ..tensors.layouts import layout as layout_type
from ..tensors.printed_elements import elements_text
from ..tensors.printing import is_usual
from ..tensors.tensor import Tensor

sparse_coo = layout_type("torch.sparse_coo")


class SparseTensor(Tensor):
    """A tensor in coordinate form: ``indices`` has a column for each entry, ``values`` the entries."""

    is_sparse = True
    layout = sparse_coo
    _indices_kept: Any
    _values_kept: Any
    _coalesced: bool

    @staticmethod
    def made(indices: Any, values: Any, size: Any, coalesced: bool = False) -> SparseTensor:
        """The sparse tensor of tensors that fit."""
        new = make_wrapper_subclass(SparseTensor, tuple(size), strides=(0,) * len(size), dtype=values.dtype)
        new._indices_kept, new._values_kept = indices, values.detach()
        new._coalesced = coalesced or values.shape[0] < 2
        return new  # type: ignore[no-any-return]

    def with_values(self, values: Any) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor.made(self._indices_kept, values, self.shape, self._coalesced)

    __torch_function__ = disabled_torch_function_impl  # functions are those of all tensors

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What an operator makes of sparse operands; ``NotImplementedError`` for those that are only for dense ones."""
        answer = ANSWERS.get(func.opname)
        if answer is None:
            raise NotImplementedError(
                f"Could not run 'aten::{func.opname}' with arguments from the 'SparseCPU' backend: there is no such "
                "operator for sparse tensors; call to_dense() first"
            )
        return answer(*args, **(kwargs or {}))

    # -- what it consists of

    def _indices(self) -> Any:
        return self._indices_kept

    def _values(self) -> Any:
        return self._values_kept

    def _nnz(self) -> int:
        return int(self._values_kept.shape[0])

    def sparse_dim(self) -> int:
        """How many dimensions the indices count."""
        return int(self._indices_kept.shape[0])

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return int(self._values_kept.dim()) - 1

    def is_coalesced(self) -> bool:
        """Whether each place is named once, in order."""
        return self._coalesced

    def indices(self) -> Any:
        """Places, a column for each entry."""
        self._only_coalesced("indices")
        return self._indices_kept

    def values(self) -> Any:
        """The entries."""
        self._only_coalesced("values")
        return self._values_kept

    def _only_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def coalesce(self) -> SparseTensor:
        """The same tensor with each place named once, in order, and the sum of the values that it had."""
        if self._coalesced:
            return self
        width = self.sparse_dim()
        places = np.ravel_multi_index(tuple(self._indices_kept._array), self.shape[:width])
        kept, which = np.unique(places, return_inverse=True)
        given = self._values_kept._array
        sums = np.zeros((kept.size, *given.shape[1:]), given.dtype)
        np.add.at(sums, which, given)
        indices = (
            np.stack(np.unravel_index(kept, self.shape[:width])) if kept.size else self._indices_kept._array[:, :0]
        )
        return SparseTensor.made(wrap(indices.astype(np.int64)), wrap(sums), self.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """All entries."""
        out = np.zeros(tuple(self.shape), self._values_kept._array.dtype)
        if self.sparse_dim():
            np.add.at(out, tuple(self._indices_kept._array), self._values_kept._array)
        else:
            out += self._values_kept._array.sum(axis=0)
        dense: Any = wrap(out)
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """Itself."""
        return self

    to_sparse_coo = to_sparse

    @property
    def data(self) -> Any:
        """The same places and values."""
        return self.with_values(self._values_kept)

    @data.setter
    def data(self, value: Any) -> None:
        self.take(value)

    def take(self, value: SparseTensor) -> None:
        """Hold the places and values of another one from here on."""
        self._indices_kept, self._values_kept, self._coalesced = value._indices(), value._values(), value._coalesced
        set_array(self, value._array)

    def numpy(self, *, force: bool = False) -> Any:
        """Refused."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def untyped_storage(self) -> Any:
        """Refused."""
        raise NotImplementedError(
            "Cannot access storage of SparseTensorImpl: its parts have one each (values, indices)"
        )

    storage = _typed_storage = untyped_storage

    def data_ptr(self) -> int:
        """Refused."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def stride(self, dim: int | None = None) -> Any:
        """0 in all dimensions: entries do not lie in rows."""
        return (0,) * self.dim() if dim is None else 0

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Refused, unless it is False."""
        if requires_grad:
            raise no_gradients()
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        values = self._values_kept._array
        parts = [f"indices={_elements(self._indices_kept._array, 15)}", f"values={_elements(values, 14)}"]
        dtype = "" if is_usual(values.dtype) else f", dtype={self.dtype}"
        tail = f"size={tuple(self.shape)}, nnz={self._nnz()}{dtype}, layout=torch.sparse_coo)"
        return "tensor(" + ",\n       ".join([*parts, tail])

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = SparseTensor.made(self._indices_kept.clone(), self._values_kept.clone(), self.shape, self._coalesced)
        return memo.setdefault(id(self), made)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild, (self._indices_kept, self._values_kept, tuple(self.shape), self._coalesced)


def rebuild(indices: Any, values: Any, size: Any, coalesced: bool) -> SparseTensor:
    """The sparse tensor that a file describes."""
    return SparseTensor.made(indices, values, size, coalesced)


def no_gradients() -> NotImplementedError:
    """The error where a gradient into a sparse tensor is asked for."""
    return NotImplementedError(
        "sparse tensors are constants of the graph here: gradients flow to the dense operands beside them, but not "
        "into their values. Detach the values, or compute with to_dense() tensors"
    )


def _elements(array: Any, columns: int) -> str:
    """Indices or values, which stand ``columns`` to the right."""
    return f"tensor({elements_text(array, columns + 7) if array.size else f'[], size={array.shape}'})"


ANSWERS: dict[str, Any] = {}
"""Operator name -> function (the files of this folder fill it)."""

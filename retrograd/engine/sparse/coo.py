"""Sparse tensors in coordinate form, their base class, and indices of entries as arrays with a column for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.base import set_array
from ..core.layouts import layout as layout_type
from ..core.printed_elements import elements_text
from ..core.registry import F
from ..nodes.edges import getrefcount
from ..overriding.overrides import disabled_torch_function_impl
from ..overriding.subclasses import make_wrapper_subclass
from ..tensors.printing import grad_suffix, is_usual, with_suffixes
from ..tensors.tensor import Tensor

# `TensorOfEntries`: base class of all sparse tensors.


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


# Computations on the indices of entries: arrays with a column for each entry.


def numbers_of(indices: Any, size: Sequence[int]) -> Any:
    """A number for each place, in the order of places; they are 0 where nothing is counted."""
    width = len(indices)
    if not width or not indices.shape[1]:
        return np.zeros(indices.shape[1], np.int64)
    return np.ravel_multi_index(tuple(indices), tuple(size[:width]))


def places_of(numbers: Any, width: int, size: Sequence[int]) -> Any:
    """The places that have these numbers, as ``numbers_of`` gives them to the first ``width`` dimensions."""
    if not width or not numbers.size:
        return np.zeros((width, numbers.size), np.int64)
    return np.stack(np.unravel_index(numbers, tuple(size[:width]))).astype(np.int64)


def matches(have: Any, wanted: Any, size: Sequence[int]) -> tuple[Any, Any]:
    """For each wanted index the entry of ``have`` (sorted, unique) at that index, and whether there is one."""
    known, asked = numbers_of(have, size), numbers_of(wanted, size)
    if not known.size:
        return np.zeros(asked.size, np.int64), np.zeros(asked.size, bool)
    found = np.minimum(np.searchsorted(known, asked), known.size - 1)
    return found, known[found] == asked


def merged(first: Any, second: Any) -> tuple[Any, Any, int]:
    """Where the entries of two tensors come to lie in their sum, and how many it has, by the numbers of their places.

    As in PyTorch both are read from their beginnings, the smaller head first, and equal heads become one entry: also
    where they are in no order, so that the sum may name a place twice.
    """
    if _rising(first) and _rising(second):
        union, where = np.unique(np.concatenate([first, second]), return_inverse=True)
        return where[: first.size], where[first.size :], union.size
    to_first, to_second, i, k, out = np.empty(first.size, np.int64), np.empty(second.size, np.int64), 0, 0, 0
    a, b = first.tolist(), second.tolist()
    while i < len(a) or k < len(b):
        take_first = k >= len(b) or (i < len(a) and a[i] <= b[k])
        take_second = i >= len(a) or (k < len(b) and b[k] <= a[i])
        if take_first:
            to_first[i] = out
            i += 1
        if take_second:
            to_second[k] = out
            k += 1
        out += 1
    return to_first, to_second, out


def _rising(numbers: Any) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())


# `SparseTensor`: a tensor that stores the indices and values of some elements; the others are 0.

sparse_coo = layout_type("torch.sparse_coo")


class SparseTensor(TensorOfEntries):
    """A tensor in coordinate form: ``indices`` has a column for each entry, ``values`` the entries."""

    is_sparse = True
    layout = sparse_coo
    _indices_kept: Any
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

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What an operator makes of sparse operands; ``NotImplementedError`` for those that are only for dense ones."""
        answer = ANSWERS.get(func.opname)
        if answer is None:
            raise NotImplementedError(
                f"Could not run '{func.name()}' with arguments from the 'SparseCPU' backend: there is no such "
                "operator for sparse tensors; call to_dense() first"
            )
        return answer(*args, **(kwargs or {}))

    # -- what it consists of

    def _indices(self) -> Any:
        return self._indices_kept

    def _values(self) -> Any:
        return self._values_kept

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
        return F._sparse_values(self)

    def _only_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def coalesce(self) -> SparseTensor:
        """The same tensor with each place named once, in order, and the sum of the values that it had."""
        return self if self._coalesced else F._coalesce(self)

    def to_sparse(self, sparse_dim: int | None = None, **kwargs: Any) -> SparseTensor:
        """Itself."""
        if sparse_dim not in (None, self.sparse_dim()):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not "
                "supported"
            )
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

    def as_gradient(self, alone: bool) -> SparseTensor:
        """What becomes a leaf's first gradient: its own parts where nobody else holds them, else copies."""
        parts = self._indices_kept, self._values_kept
        # a part is held by the tensor, the tuple, the loop, and getrefcount's own argument; its array by the part alone
        own = all(getrefcount(part) == 4 and getrefcount(part._array) == 2 for part in parts)
        if alone and own and all(part._array.flags.c_contiguous for part in parts):
            return SparseTensor.made(*parts, self.shape)  # which PyTorch does not know to be coalesced
        return self.clone()  # type: ignore[no-any-return]

    def contiguous(self, *, memory_format: Any = None) -> Any:
        """Refused: sparse tensors have no memory format."""
        raise RuntimeError("unsupported memory format option Contiguous: sparse tensors have no format, use clone()")

    def stride(self, dim: int | None = None) -> Any:
        """0 in all dimensions: entries do not lie in rows."""
        return (0,) * self.dim() if dim is None else 0

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        values = self._values_kept._array
        contents = [f"indices={elements(self._indices_kept._array, 15)}", f"values={elements(values, 14)}"]
        dtype = [] if is_usual(values.dtype) else [f"dtype={self.dtype}"]
        said = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}", *dtype, "layout=torch.sparse_coo"]
        text = "tensor(" + ",\n       ".join(contents)
        before = "Parameter containing:\n" if self._meta is not None and self._meta.is_parameter else ""
        return before + with_suffixes(text, [*said, *grad_suffix(self)], 7, begin_line=True) + ")"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild, (self._indices_kept, self._values_kept, tuple(self.shape), self._coalesced)


def rebuild(indices: Any, values: Any, size: Any, coalesced: bool) -> SparseTensor:
    """The sparse tensor that a file describes."""
    return SparseTensor.made(indices, values, size, coalesced)


def is_sparse(value: Any) -> bool:
    """Whether an operand is a sparse tensor, not a dense one or a number."""
    return isinstance(value, SparseTensor)


def elements(array: Any, columns: int) -> str:
    """The text of indices or values, indented by ``columns``."""
    return f"tensor({elements_text(array, columns + 7) if array.size else f'[], size={array.shape}'})"


ANSWERS: dict[str, Any] = {}
"""Operator name -> function (the files of this folder fill it)."""


def answers_for(*names: str) -> Callable[[Any], Any]:
    """Let a function be what these operators make of sparse operands."""

    def register(function: Any) -> Any:
        ANSWERS.update(dict.fromkeys(names, function))
        return function

    return register

"""``SparseTensor``: a tensor that stores the indices and values of some elements; the others are 0.

To the rest of the engine it is a tensor without data whose class answers for every operator (``answers``), beneath
autograd. Gradients flow into its values by the rules of the rows that were called, with ``rows`` at the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.base import set_array
from ..core.layouts import layout as layout_type
from ..core.printed_elements import elements_text
from ..core.registry import F
from ..nodes.edges import getrefcount
from ..overriding.subclasses import make_wrapper_subclass
from ..tensors.printing import grad_suffix, is_usual, with_suffixes
from .entries import TensorOfEntries

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

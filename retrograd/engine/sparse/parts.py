"""Indexing, transposing, joining and writing of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from .answers import add_entries
from .coo import ANSWERS, SparseTensor, answers_for

# Indexing, transposing and joining of sparse tensors.


def _counted_dim(self: SparseTensor, dim: int, name: str) -> int:
    """The dimension, if the indices count it."""
    if not -self.dim() <= dim < self.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-self.dim()}, {self.dim() - 1}], but got {dim})"
        )
    if dim % self.dim() >= self.sparse_dim():
        raise NotImplementedError(f"{name}: only along dimensions that the indices of a sparse tensor count")
    return int(dim % self.dim())


def _chosen(self: SparseTensor, entries: Any, indices: Any, size: Any) -> SparseTensor:
    """The tensor of some of the entries, at other places."""
    return SparseTensor.made(wrap(indices), wrap(self._values()._array[entries]), size)


@answers_for("select")
def _select(self: SparseTensor, dim: int, index: int) -> Any:
    place = _counted_dim(self, dim, "select")
    length = self.shape[place]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {place}"
        )
    indices = self._indices()._array
    entries = np.flatnonzero(indices[place] == index % length)
    size = (*self.shape[:place], *self.shape[place + 1 :])
    if self.sparse_dim() == 1:
        return wrap(self._values()._array[entries].sum(axis=0))
    return _chosen(self, entries, np.delete(indices[:, entries], place, axis=0), size)


@answers_for("unbind")
def _unbind(self: SparseTensor, dim: int = 0) -> Any:
    place = _counted_dim(self, dim, "unbind")
    return tuple([_select(self, place, index) for index in range(self.shape[place])])


@answers_for("index_select")
def _index_select(self: SparseTensor, dim: int, index: Any) -> SparseTensor:
    place = _counted_dim(self, dim, "index_select")
    wanted, indices = index._array.reshape(-1), self._indices()._array
    if wanted.size and (wanted.min() < -self.shape[place] or wanted.max() >= self.shape[place]):
        raise IndexError(f"index_select(): index out of range for dimension with size {self.shape[place]}")
    at, entries = np.nonzero((wanted % self.shape[place])[:, None] == indices[place])
    moved = indices[:, entries].copy()
    moved[place] = at
    return _chosen(self, entries, moved, (*self.shape[:place], wanted.size, *self.shape[place + 1 :]))


@answers_for("unsqueeze")
def _unsqueeze(self: SparseTensor, dim: int) -> SparseTensor:
    place = dim % (self.dim() + 1)
    if place > self.sparse_dim():
        raise NotImplementedError("unsqueeze: only among dimensions that the indices of a sparse tensor count")
    indices = np.insert(self._indices()._array, place, 0, axis=0)
    size = (*self.shape[:place], 1, *self.shape[place:])
    return SparseTensor.made(wrap(indices), self._values(), size)


@answers_for("cat")
def _cat(tensors: Any, dim: int = 0) -> SparseTensor:
    """The entries of all, those of later ones further along ``dim``."""
    parts = list(tensors)
    for number, part in enumerate(parts):
        if not isinstance(part, SparseTensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {number}.")
    first = parts[0]
    place = _counted_dim(first, dim, "cat")
    moved, length = [], 0
    for part in parts:
        _check_fits(first, part, place)
        indices = part._indices()._array.copy()
        indices[place] += length
        length += part.shape[place]
        moved.append(indices)
    values = F.cat([part._values() for part in parts], 0)
    size = (*first.shape[:place], length, *first.shape[place + 1 :])
    return SparseTensor.made(wrap(np.concatenate(moved, axis=1)), values, size)


def _check_fits(first: SparseTensor, part: SparseTensor, place: int) -> None:
    """``RuntimeError`` unless both have the same sizes besides the one at ``place``, and count as many dimensions."""
    sizes = [[*t.shape[:place], *t.shape[place + 1 :], t.sparse_dim()] for t in (first, part)]
    if sizes[0] != sizes[1]:
        raise RuntimeError(
            "All tensors must have the same shape: "
            f"{list(first.shape)} (except in the concatenating dimension), but got {list(part.shape)}"
        )


@answers_for("stack")
def _stack(tensors: Any, dim: int = 0) -> SparseTensor:
    joined: SparseTensor = _cat([_unsqueeze(part, dim) for part in tensors], dim)
    return joined


# Writes to sparse tensors, and addition of sparse tensors to dense ones.


def _written(name: str) -> Callable[..., Any]:
    """The operator that writes what the one of this name computes."""

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, SparseTensor):
            result = ANSWERS[name](self, *args, **kwargs)
            self.take(result)
            return self
        if name not in ("add", "sub"):
            raise NotImplementedError(f"{name}_: a dense tensor does not take a sparse one; call to_dense() first")
        return add_entries(self, args[0], kwargs.get("alpha", 1) * (1 if name == "add" else -1))

    return write


@answers_for("copy_")
def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(self, SparseTensor) or not isinstance(src, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    values = src._values().to(self.dtype)
    self.take(SparseTensor.made(src._indices().clone(), values.clone(), src.shape, src.is_coalesced()))
    return self


for _name in ("add", "sub", "mul", "div", "neg", "abs", "sqrt", "pow", "relu", "sin", "tanh"):
    ANSWERS[f"{_name}_"] = _written(_name)


@answers_for("zero_")
def _zero(self: SparseTensor) -> SparseTensor:
    self.take(ANSWERS["zeros_like"](self))
    return self

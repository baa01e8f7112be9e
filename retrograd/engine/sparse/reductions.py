"""Sums and softmax along dimensions of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..table.rows import function, linear
from ..tensors.convert import checked_dim, dims_given
from .coo import SparseTensor, answers_for, numbers_of
from .rows import entries_at, sparse_of

# -- sums


def _split(self: SparseTensor, dims: Any) -> tuple[list[int], tuple[int, ...]]:
    """Of the dimensions that the indices count those that stay; of the values' dimensions those that go."""
    for d in dims:
        checked_dim(d, self.dim())
    gone, width = {d % self.dim() for d in dims}, self.sparse_dim()
    return [d for d in range(width) if d not in gone], tuple(sorted(d - width + 1 for d in gone if d >= width))


@answers_for("sparse_sum")
def sum_over(self: SparseTensor, dim: Any) -> Any:
    """The sum over some dimensions: sparse as long as the indices count others."""
    kept, inner = _split(self, dim)
    values = self._values().sum(inner) if inner else self._values()
    if not kept:
        return values.sum(0)
    gone = {d % self.dim() for d in dim}
    size = [n for d, n in enumerate(self.shape) if d not in gone]
    whole = self.is_coalesced() and len(kept) == self.sparse_dim()
    return SparseTensor.made(self._indices()[kept], values, size, whole).coalesce()


def _spread(g: Any, self: Any, dim: Any) -> Any:
    """The gradient of a sum, at the places of what was summed."""
    self = self.coalesce()
    kept, inner = _split(self, dim)
    indices, size = self._indices(), tuple(self._values().shape)
    values = entries_at(g, indices[kept]) if kept else F.unsqueeze(g, 0)
    for d in inner:
        values = F.unsqueeze(values, d)
    return sparse_of(indices.clone(), F.expand(values, size).clone(), self.shape)


linear("_sparse_sum", sum_over, sparse=True, public=False, self=_spread)


@answers_for("sum")
def _sum(self: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None:
        return self._values().sum(dtype=dtype)
    dims = dims_given(dim)
    found = sum_over(self if dtype is None else self.with_values(self._values().to(dtype)), dims)
    for place in sorted(d % self.dim() for d in dims) if keepdim else ():
        found = F.unsqueeze(found, place)
    return found


# -- softmax: of the entries that there are, those without one count as minus infinity


def _group(self: SparseTensor, dim: int) -> Any:
    """A number for each entry, equal where places differ along ``dim`` alone."""
    indices, width = self._indices()._array, self.sparse_dim()
    rest = [d for d in range(width) if d != dim % self.dim()]
    numbers = numbers_of(indices[rest], [self.shape[d] for d in rest])
    return np.unique(numbers, return_inverse=True)[1]


def _sums_in_groups(terms: Any, group: Any) -> Any:
    """For each entry the sum of the terms of its group."""
    which = wrap(group)
    none = wrap(np.zeros((int(group.max(initial=-1)) + 1, *terms.shape[1:]), terms._sig.numpy))
    return F.index_select(none.index_add(0, which, terms), 0, which)


def _softmax(self: SparseTensor, dim: int, logarithm: bool) -> SparseTensor:
    """The values, normalised along a dimension."""
    self = self.coalesce()
    place, width = dim % self.dim(), self.sparse_dim()
    values = self._values()
    if place >= width:
        along = place - width + 1
        found = F._log_softmax(values, along) if logarithm else F._softmax(values, along)
        return self.with_values(found)
    group = _group(self, dim)
    high = np.full((int(group.max(initial=-1)) + 1, *values.shape[1:]), -np.inf, values._sig.numpy)
    np.maximum.at(high, group, values._array)
    shifted = values - wrap(high[group])
    sums = _sums_in_groups(shifted.exp(), group)
    return self.with_values(shifted - sums.log() if logarithm else shifted.exp() / sums)


@answers_for("sparse_softmax")
def _of_entries(self: SparseTensor, dim: int) -> SparseTensor:
    return _softmax(self, dim, False)


@answers_for("sparse_log_softmax")
def _logarithms(self: SparseTensor, dim: int) -> SparseTensor:
    return _softmax(self, dim, True)


def _sums_along(terms: Any, result: Any, dim: int) -> Any:
    place, width = dim % result.dim(), result.sparse_dim()
    return terms.sum(place - width + 1, True) if place >= width else _sums_in_groups(terms, _group(result, dim))


def _softmax_rule(g: Any, self: Any, dim: int, result: Any) -> Any:
    g, shares = entries_at(g, result._indices()), F._sparse_values(result)
    return sparse_of(result._indices().clone(), shares * (g - _sums_along(shares * g, result, dim)), result.shape)


def _log_softmax_rule(g: Any, self: Any, dim: int, result: Any) -> Any:
    g, shares = entries_at(g, result._indices()), F._sparse_values(result).exp()
    return sparse_of(result._indices().clone(), g - shares * _sums_along(g, result, dim), result.shape)


function("_sparse_softmax", _of_entries, sparse=True, public=False, self=_softmax_rule)
function("_sparse_log_softmax", _logarithms, sparse=True, public=False, self=_log_softmax_rule)

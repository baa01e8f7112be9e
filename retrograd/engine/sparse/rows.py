"""Rows that make sparse tensors and take them apart, and look-ups with a sparse gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..ops.indexing.scatter import gather
from ..ops.layers.embedding import bags, embedding, into_samples
from ..table.rows import linear, multilinear
from .coo import SparseTensor, answers_for, matches, numbers_of, places_of

# Rows that make sparse tensors and take them apart, by which gradients flow into their values.

# -- a sparse tensor of its parts


def _of_parts(values: Any, indices: Any, size: Any, is_coalesced: bool) -> SparseTensor:
    return SparseTensor.made(wrap(indices), wrap(values), size, is_coalesced)


def sparse_of(indices: Any, values: Any, size: Any, is_coalesced: bool = False) -> Any:
    """The sparse tensor of these parts, differentiable with respect to its values."""
    return F._sparse_coo_tensor_with_dims_and_tensors(values, indices, tuple(size), is_coalesced)


def entries_at(t: Any, indices: Any) -> Any:
    """The entries of a tensor, sparse or not, at some places; 0 where it has none."""
    if not isinstance(t, SparseTensor):
        return F._index(t, tuple(F.unbind(indices, 0))) if indices.shape[0] else F.unsqueeze(t, 0)
    t = F._coalesce(t)
    entries = F._sparse_values(t)
    found, there = matches(t._indices()._array, indices._array, t.shape)
    if not entries.shape[0]:
        return wrap(np.zeros((found.size, *entries.shape[1:]), entries._sig.numpy))
    rows = F.index_select(entries, 0, wrap(found))
    return rows if there.all() else rows * wrap(there.reshape(-1, *(1,) * (rows.dim() - 1)))


linear(
    "_sparse_coo_tensor_with_dims_and_tensors", _of_parts, tensors="values indices", sparse=True, public=False,
    node="SparseCooTensorWithDimsAndTensorsBackward0", values=lambda g, result: entries_at(g, result._indices()),
)  # fmt: skip


# -- its values, and each place once


@answers_for("sparse_values")
def _values(self: SparseTensor) -> Any:
    return self._values().detach()


def of_values(self: Any, values: Any) -> Any:
    """Other values at the same places, each of which is named once."""
    if isinstance(self, SparseTensor):
        return sparse_of(self._indices(), values, self.shape, True)
    return F._sparse_compressed_tensor(values, self.crow_indices(), self.col_indices(), tuple(self.shape))


linear("_sparse_values", _values, sparse=True, public=False, node="ValuesBackward0",
       self=lambda g, self: of_values(self, g))  # fmt: skip


@answers_for("coalesce")
def _coalesce(self: SparseTensor) -> SparseTensor:
    if self.is_coalesced():
        return self.with_values(self._values())
    width, given = self.sparse_dim(), self._values()._array
    kept, which = np.unique(numbers_of(self._indices()._array, self.shape), return_inverse=True)
    sums = np.zeros((kept.size, *given.shape[1:]), given.dtype)
    np.add.at(sums, which, given)
    return SparseTensor.made(wrap(places_of(kept, width, self.shape)), wrap(sums), self.shape, True)


linear("_coalesce", _coalesce, sparse=True, public=False, self=lambda g: g)


# -- to dense and back


def masked_by(t: Any, mask: Any) -> Any:
    """The entries of a tensor, sparse or not, at the places of a sparse one."""
    return F._sparse_mask(t, mask, isinstance(t, SparseTensor))


def dense(t: Any) -> Any:
    """A tensor, sparse or not, with all its entries."""
    return t.to_dense() if isinstance(t, SparseTensor) else t


def _entries(t: Any) -> Any:
    return t if isinstance(t, SparseTensor) else F._to_sparse(t, t.dim())


@answers_for("sparse_mask")
def _sparse_mask(self: Any, mask: SparseTensor, of_sparse: bool) -> SparseTensor:
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    indices = mask._indices().clone()
    return SparseTensor.made(indices, entries_at(self, indices), self.shape, mask.is_coalesced())


linear("_sparse_mask", _sparse_mask, sparse=True, public=False, tensors="self mask",
       self=lambda g, mask, of_sparse: masked_by(g, mask) if of_sparse else dense(masked_by(g, mask)))  # fmt: skip


@answers_for("to_dense")
def _to_dense(self: SparseTensor, masked: bool) -> Any:
    values = self._values()._array
    out = np.zeros(tuple(self.shape), values.dtype)
    if self.sparse_dim():
        np.add.at(out, tuple(self._indices()._array), values)
    else:
        out += values.sum(axis=0)
    return wrap(out)


def _at_entries_of(self: Any, g: Any) -> Any:
    """The entries of a gradient at the places of a sparse tensor."""
    if isinstance(self, SparseTensor):
        return masked_by(g, F._coalesce(self))
    return of_values(self, entries_at(g, self.places()))


linear("_to_dense", _to_dense, sparse=True, public=False,
       self=lambda g, self, masked: _at_entries_of(self, g) if masked else _entries(g))  # fmt: skip


def _to_sparse(self: Any, sparse_dim: int) -> SparseTensor:
    """The places of the entries that are not 0, counted over the first ``sparse_dim`` dimensions, and their values."""
    there = self != 0
    if sparse_dim < self.ndim:
        there = there.any(axis=tuple(range(sparse_dim, self.ndim)))
    places = np.stack(np.nonzero(there)) if sparse_dim else np.zeros((0, 1), np.int64)
    values = self[there] if sparse_dim else self[None].copy()
    return SparseTensor.made(wrap(places.astype(np.int64)), wrap(values), self.shape, True)


for _name, _node in (("_to_sparse", "ToSparseBackward1"), ("_to_sparse_dim", "ToSparseBackward0")):
    linear(_name, _to_sparse, sparse=True, public=False, node=_node, real_only="_to_sparse", self=lambda g: dense(g))


# Embedding look-ups with a sparse gradient: an entry for each index, in order, repeated ones included.


def _rows_looked_up(g: Any, indices: Any, kept: Any, weight_sizes: Any, by_frequency: bool) -> Any:
    """The gradient of a table: the rows of ``g`` at the rows of the table that ``indices`` names, where ``kept``."""
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    flat, width = indices._array.reshape(-1), weight_sizes[1]
    rows = F.reshape(g, (flat.size, width))
    if not kept.all():
        flat, rows = flat[kept], F.index_select(rows, 0, wrap(np.flatnonzero(kept)))
    return sparse_of(wrap(flat.astype(np.int64)[None]), rows, (weight_sizes[0], width))


linear(
    "_embedding_sparse", embedding, node="EmbeddingBackward0", tensors="weight indices", real_only="embedding",
    sparse=True, shown={"sparse": lambda: True},
    weight=lambda g, weight_sizes, indices, padding_idx, scale_grad_by_freq: _rows_looked_up(
        g, indices, indices._array.reshape(-1) != padding_idx, weight_sizes, scale_grad_by_freq
    ),
)  # fmt: skip


def _bags_looked_up(g: Any, weight_sizes: Any, per_sample: Any, indices: Any, how: Any, rarity: Any) -> Any:
    bag, _, factor = how
    rows = F.index_select(g, 0, wrap(bag)) * wrap(factor.astype(g._sig.numpy)[:, None])
    if per_sample is not None:
        rows = rows * F.unsqueeze(per_sample, 1)
    return _rows_looked_up(rows, indices, factor != 0, weight_sizes, rarity is not None)


multilinear(
    "_embedding_bag_sparse", bags, node="EmbeddingBagBackward0", tensors="weight per_sample indices", promote="",
    arrays="how rarity", sparse=True, shown={"sparse": lambda: True},
    weight=_bags_looked_up,
    per_sample=lambda g, weight, indices, how: into_samples(g, weight, indices, how),
    kinds="f",
)  # fmt: skip


def _gathered(g: Any, self_sizes: Any, dim: int, index: Any) -> Any:
    """The gradient of what was gathered from: an entry for each element of ``index``."""
    at = index._array
    places = np.zeros((len(self_sizes), at.size), np.int64)
    if len(self_sizes) and not at.ndim:
        places[0] = at
    elif len(self_sizes):
        places[:] = np.indices(at.shape).reshape(at.ndim, -1)
        places[dim % at.ndim] = at.reshape(-1)
    return sparse_of(wrap(places), F.reshape(g, (at.size,)), self_sizes)


linear("_gather_sparse", gather, node="GatherBackward0", tensors="self index", layout="rows", sparse=True,
       shown={"sparse_grad": lambda: True}, self=_gathered)  # fmt: skip

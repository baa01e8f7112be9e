"""Embedding look-ups with a sparse gradient: an entry for each index, in order, repeated ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..ops.indexing.scatter import gather
from ..ops.layers.embedding import bags, embedding, into_samples
from ..table.rows import linear, multilinear
from .rows import sparse_of


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

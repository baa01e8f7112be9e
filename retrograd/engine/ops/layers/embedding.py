"""Rows of a table by number, their sums over bags, and the bilinear form."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase, wrap
from ...core.registry import F
from ...kernels.separable import add_at
from ...table.rows import linear, multilinear


def _check_range(indices: Any, count: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise IndexError("index out of range in self")


def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The rows ``indices`` of a table."""
    _check_range(indices, weight.shape[0])
    return np.take(weight, indices, axis=0)


def _share(indices: Any, padding_idx: int, by_frequency: bool, dtype: Any) -> Any:
    """What part of its gradient each index passes on, or ``None`` for all of it."""
    if padding_idx < 0 and not by_frequency:
        return None
    share = (indices != padding_idx).astype(dtype)
    if by_frequency and indices.size:
        share = share / np.bincount(indices)[indices].astype(dtype)
    return share[:, None]


def _embedding_back(grad: Any, indices: Any, count: int, padding_idx: int, by_frequency: bool) -> Any:
    flat = indices.reshape(-1)
    rows = grad.reshape(flat.size, *grad.shape[indices.ndim :])
    share = _share(flat, padding_idx, by_frequency, grad.dtype)
    return add_at(rows if share is None else rows * share, flat, 0, count)


def _embedding_shared(x: Any, indices: Any, padding_idx: int, by_frequency: bool) -> Any:
    """The transpose of ``_embedding_back``."""
    flat = indices.reshape(-1)
    share = _share(flat, padding_idx, by_frequency, x.dtype)
    rows = np.take(x, flat, axis=0)
    return (rows if share is None else rows * share).reshape(*indices.shape, *x.shape[1:])


linear(
    "_embedding", embedding, node="EmbeddingBackward0", tensors="weight indices", real_only="embedding",
    weight=lambda g, weight_sizes, indices, padding_idx, scale_grad_by_freq: F._embedding_back(
        g, indices, weight_sizes[0], padding_idx, scale_grad_by_freq
    ),
)  # fmt: skip
linear(
    "_embedding_back", _embedding_back, node="EmbeddingDenseBackwardBackward0", tensors="grad indices",
    grad=lambda g, indices, padding_idx, by_frequency: F._embedding_shared(g, indices, padding_idx, by_frequency),
)  # fmt: skip
linear(
    "_embedding_shared", _embedding_shared, node="EmbeddingBackward0", tensors="x indices", real_only="embedding",
    x=lambda g, x_sizes, indices, padding_idx, by_frequency: F._embedding_back(
        g, indices, x_sizes[0], padding_idx, by_frequency
    ),
)  # fmt: skip


# -- bags: ``how`` is (bag of each index, number of bags, fixed factor of each index); ``rarity`` is a further factor of
# the gradient alone


def _factors(per_sample: Any, how: Any, dtype: Any) -> Any:
    factors = how[2].astype(dtype) if per_sample is None else per_sample * how[2].astype(dtype)
    return factors[:, None]


def bags(weight: Any, per_sample: Any, indices: Any, how: Any, rarity: Any = None) -> Any:
    """The sums of the rows of each bag."""
    _check_range(indices, weight.shape[0])
    rows = np.take(weight, indices, axis=0) * _factors(per_sample, how, weight.dtype)
    return add_at(rows, how[0], 0, how[1])


def _bags_backward(
    g: Any, per_sample: Any, indices: Any, how: Any, rarity: Any, count: int
) -> Any:  # fmt: skip
    scaled = how if rarity is None else (*how[:2], how[2] * rarity)
    return F._bags_back(g, per_sample, indices, scaled, count)


def _bags_back(grad: Any, per_sample: Any, indices: Any, how: Any, count: int) -> Any:
    rows = np.take(grad, how[0], axis=0) * _factors(per_sample, how, grad.dtype)
    return add_at(rows, indices, 0, count)


def into_samples(g: Any, weight: Any, indices: Any, how: Any) -> Any:
    """The gradient of the weight of each index."""
    bag, factor = how[0], how[2]
    if isinstance(g, TensorBase):
        bag, factor = wrap(bag), wrap(factor.astype(g._sig.numpy))
    product = F._embedding(g, bag, -1, False) * F._embedding(weight, indices, -1, False)
    return F._sum_dim(product, (1,), False) * factor


multilinear(
    "_embedding_bag", bags, node="EmbeddingBagBackward0", tensors="weight per_sample indices", promote="",
    arrays="how rarity",
    weight=lambda g, weight_sizes, per_sample, indices, how, rarity: _bags_backward(
        g, per_sample, indices, how, rarity, weight_sizes[0]
    ),
    per_sample=lambda g, weight, indices, how: into_samples(g, weight, indices, how),
    kinds="f",
)  # fmt: skip
multilinear(
    "_bags_back", _bags_back, node="EmbeddingBagBackwardBackward0", tensors="grad per_sample indices", promote="",
    grad=lambda g, per_sample, indices, how: F._embedding_bag(g, per_sample, indices, how),
    per_sample=lambda g, grad, indices, how: into_samples(grad, g, indices, how),
)  # fmt: skip


def _bag_winners(weight: Any, per_sample: Any, winners: Any) -> Any:
    """For each bag and column the element of the winning row; bags without one are 0."""
    picked = np.take_along_axis(weight, np.maximum(winners, 0), 0)
    return np.where(winners >= 0, picked, weight.dtype.type(0))


def _bag_winners_back(grad: Any, winners: Any, count: int) -> Any:
    out = np.zeros((count, grad.shape[1]), grad.dtype)
    kept = winners >= 0
    columns = np.broadcast_to(np.arange(grad.shape[1]), winners.shape)
    np.add.at(out, (winners[kept], columns[kept]), grad[kept])
    return out


linear(
    "_embedding_bag_max", _bag_winners, node="EmbeddingBagBackward0", tensors="weight per_sample winners",
    per_sample=lambda g: None,
    weight=lambda g, weight_sizes, winners: F._bag_winners_back(g, winners, weight_sizes[0]),
    kinds="f",
)  # fmt: skip
linear(
    "_bag_winners_back", _bag_winners_back, node="EmbeddingBagBackwardBackward0", tensors="grad winners",
    grad=lambda g, winners: F._embedding_bag_max(g, None, winners),
)  # fmt: skip


# -- the bilinear form and its transpose with respect to the weight


def _trilinear(i1: Any, i2: Any, i3: Any) -> Any:
    """``sum_ij i1[n, i] i2[o, i, j] i3[n, j]``: torch's names."""
    half = np.tensordot(i1, i2, (1, 1))
    return np.einsum("noj,nj->no", half, i3)


def _outer_of_three(a: Any, b: Any, c: Any) -> Any:
    pairs = np.einsum("ni,nj->nij", b, c)
    return np.tensordot(a, pairs, (0, 0))


multilinear(
    "_trilinear", _trilinear, promote="", node="TrilinearBackward0", real_only="_trilinear",
    i1=lambda g, i2, i3: F._trilinear(g, F._permute(i2, (1, 0, 2)), i3),
    i2=lambda g, i1, i3: F._outer_of_three(g, i1, i3),
    i3=lambda g, i1, i2: F._trilinear(i1, F._permute(i2, (2, 1, 0)), g),
    kinds="fciu", apart=True,
)  # fmt: skip
multilinear(
    "_outer_of_three", _outer_of_three, promote="", node="TrilinearBackward0", apart=True,
    a=lambda g, b, c: F._trilinear(b, g, c),
    b=lambda g, a, c: F._trilinear(a, F._permute(g, (1, 0, 2)), c),
    c=lambda g, a, b: F._trilinear(b, F._permute(g, (2, 1, 0)), a),
)  # fmt: skip

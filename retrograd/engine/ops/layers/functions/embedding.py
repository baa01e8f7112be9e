"""Linear layers and rows of a table by number."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....aliasing.versions import share_storage
from ....aliasing.write_rules import check_inplace
from ....calls.inplace import bump_version
from ....calls.refusals import refuse
from ....core.absent import known_values
from ....core.argument_checks import real_argument
from ....core.base import wrap
from ....core.dtypes import c10_name
from ....core.registry import F
from ....table.public import NN, check_tensor, public

# `linear` and `bilinear`: products with a weight.


@public("linear", namespace=NN, out=True)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    """``input @ weight.T + bias``; recorded as torch composes it."""
    check_tensor("linear", input)
    check_tensor("linear", weight, 2, "weight")
    refuse(
        not (input.ndim and weight.ndim),
        f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D",
    )
    if bias is None or weight.ndim != 2:
        product = input.matmul(F.t(weight))
        return product if bias is None else product + bias
    if input.ndim == 2:
        return F.addmm(bias, input, F.t(weight), 1, 1)
    if not input.is_contiguous():
        return input.matmul(F.t(weight)) + bias
    rows = prod(input.shape[:-1])  # also of inputs without features
    refuse(
        not input.ndim or input.shape[-1] != weight.shape[1],
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x"
        f"{input.shape[-1] if input.ndim else 1} and {weight.shape[1]}x{weight.shape[0]})",
    )
    flat = F._view(input, (rows, input.shape[-1]))
    return F._view(F.addmm(bias, flat, F.t(weight), 1, 1), (*input.shape[:-1], weight.shape[0]))


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1 @ weight[o] @ input2`` for each output ``o``."""
    check_tensor("bilinear", input1)
    check_tensor("bilinear", input2, 2, "input2")
    refuse(
        input1.ndim != input2.ndim, f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
    )
    refuse(
        len({t._sig.numpy for t in (input1, input2, weight, bias) if t is not None}) > 1,
        f"All tensors must have the same dtype, got input1: {c10_name(input1._sig.numpy)}, input2: "
        f"{c10_name(input2._sig.numpy)}, weight: {c10_name(weight._sig.numpy)}",
    )
    for i, x in ((1, input1), (2, input2)):
        refuse(
            x.shape[-1] != weight.shape[i],
            f"bilinear(): input{i} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[i]}",
        )
    refuse(
        tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]),
        f"bilinear(): input batch dimensions do not match: got {list(input1.shape[:-1])} and {list(input2.shape[:-1])}",
    )
    flat = [x.reshape(-1, x.shape[-1]) for x in (input1, input2)]
    out = F._view(F._trilinear(flat[0], weight, flat[1]), (*input1.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias


public("bilinear", namespace=NN)(public("bilinear", method=False)(bilinear))


# `embedding` and `embedding_bag`: rows of a table by number.


def _padding_row(padding_idx: int | None, count: int) -> int:
    """The row without gradient, or -1."""
    if padding_idx is None:
        return -1
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


def _check_indices(indices: Any, name: str, place: int = 1) -> None:
    refuse(
        indices._sig.numpy not in (np.int64, np.int32),
        f"Expected tensor for argument #{place} 'indices' to have one of the following scalar types: Long, Int; but "
        f"got {indices.dtype} instead (while checking arguments for {name})",
    )


def _shorten_rows(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are used down to ``max_norm``, in place and outside the graph."""
    real_argument("embedding_renorm_", "max_norm", 3, max_norm)
    if weight.is_meta:
        bump_version(weight)
        return
    used = np.unique(indices._array)
    rows = weight._array[used]
    norms = np.linalg.norm(rows.astype(np.float64), norm_type, axis=1)
    long = norms > max_norm
    if np.any(long):
        weight._array[used[long]] = rows[long] * (max_norm / (norms[long] + 1e-7))[:, None].astype(rows.dtype)
    bump_version(weight)


@public("embedding_renorm_", method=False)
def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:  # noqa: A002
    """The rows of a table that ``indices`` names, scaled down to ``max_norm`` in place."""
    check_tensor("embedding_renorm_", input)
    _check_indices(indices, "embedding_renorm_", 2)
    refuse(
        input.ndim != 2,
        f"Expected 2-dimensional tensor, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
        "checking arguments for embedding_renorm_)",
    )
    check_inplace(input, records=input.requires_grad)
    _shorten_rows(input, indices, max_norm, norm_type)
    return input


@public("embedding", namespace=NN)
def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,  # noqa: A002
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows ``input`` of the table ``weight``."""
    check_tensor("embedding", weight, 2, "weight")
    check_tensor("embedding", input)
    _check_indices(input, "embedding")
    refuse(weight.ndim != 2, "'weight' must be 2-D")
    refuse(not weight.shape[0] and input.numel() > 0, "index_select(): self indexing axis dim should be positive")
    padding = _padding_row(padding_idx, weight.shape[0])
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return (F._embedding_sparse if sparse else F._embedding)(weight, input, padding, scale_grad_by_freq)


@public("embedding", method=False)
def _torch_embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:  # fmt: skip
    """The rows ``indices`` of the table ``weight``."""
    check_tensor("embedding", weight, 1, "weight")
    check_tensor("embedding", indices, 2, "indices")
    _check_indices(indices, "embedding")
    refuse(weight.ndim != 2, "'weight' must be 2-D")
    return (F._embedding_sparse if sparse else F._embedding)(weight, indices, padding_idx, scale_grad_by_freq)


# -- bags


def _bag_numbers(input: Any, offsets: Any, include_last: bool) -> tuple[Any, Any, int]:  # noqa: A002
    """The indices in a row, the bag that each belongs to, and the number of bags."""
    indices = known_values(input)
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        return indices.reshape(-1), np.repeat(np.arange(indices.shape[0]), indices.shape[1]), indices.shape[0]
    if indices.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.ndim}")
    _check_indices(offsets, "embedding_bag")
    points = known_values(offsets)
    last = int(points[-1]) if points.size else 0
    refuse(
        last > indices.size,
        f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] of {last}",
    )
    starts = points[:-1] if include_last else points
    refuse(starts.size > 0 and starts[0] != 0, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has "
           f"to start from position 0. However, got {int(starts[0]) if starts.size else 0}")  # fmt: skip
    bag = np.searchsorted(starts, np.arange(indices.size), side="right") - 1
    return indices, bag, starts.size


def _on(like: Any, array: Any) -> Any:
    """An array as a tensor where another one is."""
    return wrap(array).to(like.device)


def _winners(weight: Any, indices: Any, bag: Any, bags: int, kept: Any) -> Any:
    """Which row is largest in each column of each bag; -1 for empty bags."""
    found = np.full((bags, weight.shape[1]), -1, np.int64)
    for b in range(bags):
        rows = indices[(bag == b) & kept]
        if rows.size:
            found[b] = rows[np.argmax(weight[rows], axis=0)]
    return found


def _rarity(indices: Any) -> Any:
    """What ``scale_grad_by_freq`` multiplies the gradient of each index by.

    PyTorch's kernel divides that of the ``i``-th different index by how often the ``i``-th of all sorted ones occurs.
    """
    _, rank = np.unique(indices, return_inverse=True)
    return 1.0 / np.bincount(indices)[np.sort(indices)[rank]] if indices.size else np.ones(0)


def _check_bag_options(input: Any, weight: Any, mode: str, sparse: bool, per_sample_weights: Any) -> None:  # noqa: A002
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must have "
            f"the same shape as the input ({list(input.shape)})"
        )


def _check_rows(indices: Any, count: int) -> None:
    wrong = np.flatnonzero((indices < 0) | (indices >= count))
    if wrong.size:
        at = wrong[0]
        raise RuntimeError(
            f"embedding_bag: Index {at} of input takes value {indices[at]} which is not in the valid range [0, {count})"
        )


@public("embedding_bag", namespace=NN)
def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,  # noqa: A002
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or maxima of the rows of each bag of indices."""
    check_tensor("embedding_bag", input)
    check_tensor("embedding_bag", weight, 2, "weight")
    _check_bag_options(input, weight, mode, sparse, per_sample_weights)
    indices, bag, bags = _bag_numbers(input, offsets, include_last_offset)
    _check_indices(input, "embedding_bag")
    _check_rows(indices, weight.shape[0])
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    kept = indices != _padding_row(padding_idx, weight.shape[0])
    if mode == "max":
        return F._embedding_bag_max(weight, None, _on(weight, _winners(known_values(weight), indices, bag, bags, kept)))
    factor = kept.astype(np.float64)
    if mode == "mean":
        factor = factor / np.maximum(np.bincount(bag[kept], minlength=bags), 1)[bag]
    flat = per_sample_weights if per_sample_weights is None or input.ndim == 1 else per_sample_weights.reshape(-1)
    rarity = _rarity(indices) if scale_grad_by_freq else None
    bags_of = F._embedding_bag_sparse if sparse else F._embedding_bag
    return bags_of(weight, flat, _flat_alias(input, indices), (bag, bags, factor), rarity)


def _flat_alias(input: Any, indices: Any) -> Any:  # noqa: A002
    """The indices in a row, whose writes are those to the caller's."""
    if input.is_meta:
        return input.reshape(-1)
    made = wrap(indices)
    share_storage(made, input)
    return made


@public("embedding_bag", method=False)
def embedding_bag_of_row(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """``torch.embedding_bag``: the bags, the bag of each index, the sizes of the bags, and which rows were largest."""
    check_tensor("embedding_bag", offsets, 3, "offsets")
    refuse(offsets.ndim != 1, f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.ndim}")
    out = embedding_bag(
        indices, weight, offsets, None, 2, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip
    flat, bag, bags = _bag_numbers(indices, offsets, include_last_offset)
    kept = flat != _padding_row(padding_idx, weight.shape[0])
    if mode == 0 and weight._sig.numpy.itemsize < 8:  # torch's short way for sums leaves the rest out
        return out, *[_on(weight, np.zeros(n, np.int64)) for n in (0, bags, bags)]
    sizes = np.bincount(bag[kept], minlength=bags).astype(np.int64)
    rows = _winners(known_values(weight), flat, bag, bags, kept) if mode == 2 else sizes
    empty = np.zeros(bags, np.int64)
    found = bag.astype(np.int64), sizes if mode else empty, rows if mode else empty
    return out, *[_on(weight, array) for array in found]

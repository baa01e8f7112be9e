"""Positions of values in sorted tensors, and positions where values occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse, refuse_kind
from ....table.public import public
from ....tensors.base import TensorBase, wrap
from ....tensors.dtype_names import scalar_name
from ...reductions.reduce import refuse_complex


@public("searchsorted", method=False, out=True, aten="searchsorted.Tensor")
def searchsorted(
    sorted_sequence: Any,
    input: Any,  # noqa: A002
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Indices at which values must be inserted to keep a sorted tensor sorted."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while "
                           "right was True")  # fmt: skip
    array = sorted_sequence._array
    refuse_complex("searchsorted", array)
    refuse(
        not array.ndim,
        "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension",
    )
    if sorter is not None:
        array = _in_order(array, sorter)
    values = input._array if isinstance(input, TensorBase) else np.asarray(input)
    refuse_complex("searchsorted", values)
    refuse_kind("searchsorted_out_cpu", np.result_type(array, values), "fiu")
    found = _searched(array, values, "right" if right or side == "right" else "left")
    return wrap(np.asarray(found, np.int32 if out_int32 else np.int64))


def _in_order(array: Any, sorter: Any) -> Any:
    """Boundaries in the order that ``sorter``, a tensor of indices in their shape, gives along the last dimension."""
    if sorter._sig.numpy != np.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{scalar_name(sorter._sig.numpy)}"
        )
    order = sorter._array
    refuse(
        order.shape != array.shape,
        f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
        f"{list(array.shape)}and got sorter tensor {list(order.shape)}",
    )
    refuse(bool(((order < 0) | (order >= array.shape[-1])).any()), "torch.searchsorted(): sorter index out of range")
    return np.take_along_axis(array, order, -1)


def _searched(array: Any, values: Any, side: Any) -> Any:
    if array.ndim == 1:
        return np.searchsorted(array, values, side)
    if array.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(array.shape)} and input "
            f"value tensor {list(values.shape)}"
        )
    if not values.size:
        return np.zeros(values.shape, np.int64)
    rows, wanted = array.reshape(-1, array.shape[-1]), values.reshape(-1, values.shape[-1])
    found = [np.searchsorted(r, w, side) for r, w in zip(rows, wanted, strict=True)]
    return np.asarray(found, np.int64).reshape(values.shape)


@public("bucketize", method=False, out=True, aten="bucketize.Tensor")
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:  # noqa: A002
    """The index of the interval between boundaries that contains each value."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public("argwhere")
def argwhere(input: Any) -> Any:  # noqa: A002
    """Indices of the elements that are not zero, as rows."""
    return input.nonzero()

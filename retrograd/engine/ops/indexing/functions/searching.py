"""Distinct values, positions of values in sorted tensors, sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse, refuse_kind
from ....core.base import TensorBase, wrap
from ....core.dtypes import scalar_name
from ....core.registry import F
from ....return_types import named
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim
from ...reductions.reduce import refuse_complex

# Distinct values.


def _chosen(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    extras = ([inverse] if return_inverse else []) + ([counts] if return_counts else [])
    return (values, *extras) if extras else values


def _check_slices(input: Any, dim: Any) -> None:  # noqa: A002
    """``RuntimeError`` where ``dim`` counts slices of no elements."""
    if dim is not None and 0 in (n for d, n in enumerate(input.shape) if d != checked_dim(dim, input.ndim)):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@public("unique")
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Distinct elements (or slices of ``dim``), sorted."""
    check_tensor("unique", input)
    _check_slices(input, dim)
    row = F._unique if dim is None else F._unique_dim
    return _chosen(row(input, dim), return_inverse, return_counts)


@public("unique_consecutive")
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Elements (or slices of ``dim``) without repetitions of their predecessors."""
    check_tensor("unique_consecutive", input)
    _check_slices(input, dim)
    return _chosen(F._unique_consecutive(input, dim), return_inverse, return_counts)


@public(
    "isin",
    method=False,
    out=True,
    aten="isin.Tensor_Tensor",
    also={"element": "elements", "test_element": "test_elements"},
)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements are among ``test_elements``."""
    for v in (elements, test_elements):
        if isinstance(v, TensorBase):
            refuse_complex("isin", v._array)
            if v._sig.kind == "b":
                raise RuntimeError("Unsupported input type encountered for isin(): Bool")
        elif isinstance(v, bool):
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
        elif isinstance(v, complex):
            raise RuntimeError("Unsupported input type encountered for isin(): ComplexDouble")
    pair = [v._array if isinstance(v, TensorBase) else v for v in (elements, test_elements)]
    return wrap(np.isin(pair[0], pair[1], invert=invert))


# Positions of values in sorted tensors, and positions where values occur.


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
    find = _halving if any(a.dtype.kind == "f" and np.isnan(a).any() for a in (array, values)) else np.searchsorted
    if array.ndim == 1:
        return find(array, values, side)
    if array.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(array.shape)} and input "
            f"value tensor {list(values.shape)}"
        )
    if not values.size:
        return np.zeros(values.shape, np.int64)
    rows, wanted = array.reshape(-1, array.shape[-1]), values.reshape(-1, values.shape[-1])
    found = [find(r, w, side) for r, w in zip(rows, wanted, strict=True)]
    return np.asarray(found, np.int64).reshape(values.shape)


def _halving(array: Any, values: Any, side: Any) -> Any:
    """Where PyTorch ends up among NaN, which are neither above nor below anything: it goes on to the right of them."""
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, len(array), np.int64)
    while (searching := low < high).any():
        middle = np.where(searching, (low + high) // 2, 0)
        is_past = array[middle] > values if side == "right" else array[middle] >= values
        high = np.where(searching & is_past, middle, high)
        low = np.where(searching & ~is_past, middle + 1, low)
    return low


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


# Sorting, the largest and the k-th elements.


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, bool, Any]:
    """``dim``, ``descending`` and ``stable`` (``None`` where it was not mentioned)."""
    given: dict[str, Any] = {"dim": -1, "descending": False, "stable": None}
    given.update(zip(("dim", "descending", "stable"), args, strict=False))
    given.update({("dim" if k == "axis" else k): v for k, v in kwargs.items()})
    if len(given) > 3:
        raise TypeError(f"sort() got an unexpected keyword argument '{list(given)[3]}'")
    return given["dim"], bool(given["descending"]), given["stable"]


@public("sort", out=True)
def sort(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    """Elements in order along a dimension, and where they were."""
    check_tensor("sort", input)
    dim, descending, stable = _arguments(args, kwargs)
    row = F._sort if stable is None else F._sort_stable
    return named("sort", *row(input, dim, descending))


@public("argsort", out=True)
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:  # noqa: A002
    """Indices that sort the elements."""
    check_tensor("argsort", input)
    return F._argsort(input, dim, descending)


@public("msort", out=True)
def msort(input: Any) -> Any:  # noqa: A002
    """Elements in order along the first dimension."""
    return F._sort(input, 0, False)[0]


@public("topk", out=True)
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002
    """The ``k`` largest (or smallest) elements along ``dim``, and where they are."""
    check_tensor("topk", input)
    return named("topk", *F._topk(input, int(k), dim, largest, sorted))


@public("kthvalue", out=True)
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: A002
    """The ``k``-th smallest elements along ``dim``, and where they are."""
    check_tensor("kthvalue", input)
    return named("kthvalue", *F._kthvalue(input, int(k), dim, keepdim))

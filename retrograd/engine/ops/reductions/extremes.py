"""The largest and the smallest elements, medians and modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.selecting import MOST, SORTING, last_in_order
from ...table.registry import F
from ...table.rows import function

# -- extremes whose gradient is shared among ties
from .reduce import axes_of, reached, refuse_complex, restored, scatter_back, selected_tangent


def _needs_elements(name: str, self: Any, dim: Any) -> None:
    axes = axes_of(dim, self.ndim)
    if any(self.shape[a] == 0 for a in axes):
        if dim is None or dim == ():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        raise IndexError(f"{name}(): Expected reduction dim {axes[0]} to have non-zero size.")
    refuse_complex(name, self)


def _amax(self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest elements; ties share the gradient."""
    _needs_elements("amax", self, dim)
    most: Any = np.maximum
    return most.reduce(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def _amin(self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest elements; ties share the gradient."""
    _needs_elements("amin", self, dim)
    least: Any = np.minimum
    return least.reduce(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def shared(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """A gradient divided evenly among the elements equal to the result."""
    sizes = tuple(self.shape)
    hit = self == restored(result, sizes, dim, keepdim)
    count = F._sum_dim(hit, dim, True)
    return restored(g, sizes, dim, keepdim) / count * hit


function("amax", _amax, self=shared, layout="rows")
function("amin", _amin, self=shared, layout="rows")


def _aminmax(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and not self.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    return _amin(self, dim, keepdim), _amax(self, dim, keepdim)


def _aminmax_back(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    low, high = result
    return shared(g[0], self, low, dim, keepdim) + shared(g[1], self, high, dim, keepdim)


function("_aminmax", _aminmax, node="AminmaxBackward0", outputs=2, self=_aminmax_back, layout="rows")


# -- medians and modes


def _middle(self: Any, ignore_nan: bool) -> Any:
    """Index of the lower median along the last axis; NaN counts as the largest, and wins unless it is ignored."""
    refuse_complex("median", self)
    if self.dtype.kind == "b":
        raise NotImplementedError("median is not implemented for bool; convert with .to(torch.uint8) first")
    order = np.argsort(self, axis=-1, kind="stable")
    n = self.shape[-1]
    if self.dtype.kind != "f":
        return order[..., (n - 1) // 2]
    missing = np.isnan(self)
    count = n - missing.sum(-1)
    place = np.maximum(count - 1, 0) // 2
    if not ignore_nan:
        return np.where(count < n, np.argmax(missing, -1), np.take_along_axis(order, place[..., None], -1)[..., 0])
    return np.take_along_axis(order, place[..., None], -1)[..., 0]


def _nan_as_integer(dtype: Any) -> int:
    """What C makes of NaN."""
    return int(np.iinfo(dtype).min) if dtype.itemsize > 2 else int(dtype.kind == "b")


def _median_all(ignore_nan: bool) -> Any:
    def forward(self: Any) -> Any:
        refuse_complex("median", self)
        flat = self.reshape(-1)
        if not flat.size:
            return np.asarray(self.dtype.type(np.nan if self.dtype.kind == "f" else _nan_as_integer(self.dtype)))
        return np.asarray(flat[_middle(flat, ignore_nan)])

    return forward


def _share_all(g: Any, self: Any, result: Any) -> Any:
    hit = reached(self, result)
    return g * hit / F.sum(hit)


def select_along(choose: Any) -> Any:
    """A forward that picks one element along a dimension: values and indices."""

    def forward(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
        refuse_complex("median or mode", self)
        if self.ndim == 0:
            axes_of(dim, 0)
            return self.copy(), np.zeros((), np.int64)
        axis = axes_of(dim, self.ndim)[0]
        if self.shape[axis] == 0:
            raise IndexError(f"Expected reduction dim {axis} to have non-zero size.")
        moved = np.moveaxis(self, axis, -1)
        indices = np.asarray(choose(moved), np.int64, order="C")
        values = np.take_along_axis(moved, indices[..., None], -1)[..., 0]
        if keepdim:
            return np.expand_dims(values, axis), np.expand_dims(indices, axis)
        return values, indices

    return forward


def _last_place(row: Any, value: Any) -> int:
    return int(np.flatnonzero(row == value)[-1])


def _most_frequent(moved: Any) -> Any:
    """Index of the last, in order, of the most frequent (among those the smallest) value; NaN only if all are."""
    flat = moved.reshape(-1, moved.shape[-1])
    found = np.zeros(len(flat), np.int64)
    last_of = last_in_order if SORTING * flat.size <= MOST else _last_place
    for i, row in enumerate(flat):
        values, counts = np.unique(row[row == row], return_counts=True)
        if values.size:
            found[i] = last_of(row, values[np.argmax(counts)])
    return found.reshape(moved.shape[:-1])


def selecting(name: str, choose: Any, node: str) -> None:
    """A row that picks one element along a dimension; the gradient goes there."""
    function(name, select_along(choose), node=node, results="values indices", nondiff=(1,), self=scatter_back,
             jvp=selected_tangent)  # fmt: skip


function("_median_all", _median_all(False), node="MedianBackward0", self=_share_all)
function("_nanmedian_all", _median_all(True), node="NanmedianBackward0", self=_share_all)
selecting("_median", lambda a: _middle(a, False), "MedianBackward1")
selecting("_nanmedian", lambda a: _middle(a, True), "NanmedianBackward1")
selecting("_mode", _most_frequent, "ModeBackward0")

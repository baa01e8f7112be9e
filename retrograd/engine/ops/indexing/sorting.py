"""Order: sorting, the largest, the k-th."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.selecting import follow_selection, follow_ties, kth_place, top_places
from ...table.rows import function, nondifferentiable
from ..reductions.reduce import axes_of, refuse_complex, taken


def order_of(self: Any, axis: int, descending: bool) -> Any:
    """Stable order along an axis; NaN counts as the largest."""
    refuse_complex("sort", self)
    if not descending:
        return np.argsort(self, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(self, axis), axis=axis, kind="stable")
    return np.flip(self.shape[axis] - 1 - backwards, axis)


def _sort(self: Any, dim: int = -1, descending: bool = False) -> Any:
    if not self.ndim:
        axes_of(dim, 0)
        return self.copy(), np.zeros((), np.int64)
    axis = axes_of(dim, self.ndim)[0]
    order = np.ascontiguousarray(order_of(self, axis, descending))
    return np.take_along_axis(self, order, axis), order


def _placed_back(g: Any, self_sizes: Any, indices: Any, dim: int) -> Any:
    return F._value_selecting_backward(g[0], indices, tuple(self_sizes), dim, True)


def _placed_tangent(position: int) -> Any:
    return lambda primal, tangents, results: (F.gather(tangents[0], primal[position], results[1]), None)


for _name, _node in (("_sort", "SortBackward0"), ("_sort_stable", "SortBackward1")):
    function(_name, _sort, node=_node, results="values indices", nondiff=(1,), self=_placed_back,
             jvp=_placed_tangent(1), layout="copy")  # fmt: skip


def _argsort(self: Any, dim: int = -1, descending: bool = False) -> Any:
    return _sort(self, dim, descending)[1]


nondifferentiable("_argsort", _argsort, layout="copy")


def _topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    axis = axes_of(dim, self.ndim)[0]
    if not 0 <= k <= self.shape[axis]:
        raise RuntimeError("selected index k out of range")

    def choose(lines: Any, order: Any) -> Any:
        if sorted:
            return follow_ties(lines, order, slice(0, k), lambda rank: top_places(rank, k), k)
        return follow_selection(lines, order, k)

    return _chosen(self, axis, order_of(self, axis, largest), choose)


def _chosen(self: Any, axis: int, order: Any, choose: Any) -> tuple[Any, Any]:
    """The elements that ``choose`` takes of lines along an axis, given the order of each, and their indices."""
    places = choose(np.moveaxis(self, axis, -1), np.moveaxis(order, axis, -1))
    indices = np.ascontiguousarray(np.moveaxis(places, -1, axis))
    return np.take_along_axis(self, indices, axis), indices


function("_topk", _topk, node="TopkBackward0", results="values indices", nondiff=(1,), self=_placed_back,
         jvp=_placed_tangent(2), kinds="fiu")  # fmt: skip


def _kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    refuse_complex("kthvalue", self)
    if not self.ndim:
        axes_of(dim, 0)
        if k != 1:
            raise RuntimeError("kthvalue(): selected number k out of range for dimension 0")
        return self.copy(), np.zeros((), np.int64)
    axis = axes_of(dim, self.ndim)[0]
    if not self.shape[axis]:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= self.shape[axis]:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(axis))
    found = _chosen(
        self,
        axis,
        np.argsort(self, axis=axis, kind="stable"),
        lambda lines, order: follow_ties(lines, order, slice(k - 1, k), lambda rank: [kth_place(rank, k - 1)]),
    )
    return found if keepdim else tuple(np.squeeze(part, axis) for part in found)


function(
    "_kthvalue", _kthvalue, node="KthvalueBackward0", results="values indices", nondiff=(1,), kinds="fiu",
    self=lambda g, self_sizes, dim, keepdim, indices: F._value_selecting_backward(
        g[0], indices, tuple(self_sizes), dim, keepdim),
    jvp=lambda primal, tangents, results: (
        taken(tangents[0], results[1], primal[2], primal[3]), None),
)  # fmt: skip

# -- distinct values


def distinct(self: Any, dim: Any = None) -> Any:
    """Distinct elements (or slices) in order, where each element is among them, and how often it occurs."""
    if dim is not None:
        dim = axes_of(dim, self.ndim)[0]
    values, inverse, counts = np.unique(self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    shape = self.shape if dim is None else (-1,)
    return values, inverse.reshape(shape).astype(np.int64), counts.astype(np.int64)


def runs(self: Any, dim: Any = None) -> Any:
    """Elements (or slices) without repetitions of their predecessors, with the same extras."""
    array, axis = (self.reshape(-1), 0) if dim is None else (self, axes_of(dim, self.ndim)[0])
    moved = np.moveaxis(array, axis, 0)
    lines = moved.reshape(array.shape[axis], math.prod(moved.shape[1:]))
    new = np.ones(len(lines), bool)
    new[1:] = (lines[1:] != lines[:-1]).any(1)
    starts = np.flatnonzero(new)
    inverse = (np.cumsum(new) - 1).reshape(self.shape if dim is None else (-1,))
    return np.take(array, starts, axis), inverse.astype(np.int64), np.diff(np.append(starts, len(lines)))


def _no_gradient(name: str) -> Any:
    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


for _name, _row, _forward, _node in (
    ("_unique2", "_unique", distinct, "Unique2Backward0"),
    ("unique_dim", "_unique_dim", distinct, "UniqueDimBackward0"),
    ("unique_consecutive", "_unique_consecutive", runs, "UniqueConsecutiveBackward0"),
):
    function(_row, _forward, node=_node, outputs=3, nondiff=(1, 2), self=_no_gradient(_name), kinds="fiub",
             dynamic="self")  # fmt: skip

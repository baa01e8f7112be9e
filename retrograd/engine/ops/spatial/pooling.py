"""Max pools and average pools."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.halves import rounded_once
from ...kernels.sliding import Sizes, inner, overhang, padded, taps, window_span
from ...table.rows import function, linear, nondifferentiable
from ..pointwise.arithmetic import zero_gradient

# Average pools and their transposes.

AvgHow = tuple[Sizes, Sizes, Sizes, Sizes, bool, Any]
"""``(kernel, stride, padding, count of windows, count_include_pad, divisor_override)``."""


def _overhang(spatial: Sizes, how: AvgHow) -> Sizes:
    kernel, stride, padding, count, *_ = how
    return overhang(spatial, kernel, stride, padding, count)


def _divisor(spatial: Sizes, how: AvgHow, dtype: Any) -> Any:
    """How many elements each window counts: a number, or an array where windows differ."""
    kernel, stride, padding, count, include_pad, override = how
    if override:
        return dtype.type(override)
    whole: Any = 1
    for i, n in enumerate(spatial):
        start = np.arange(count[i]) * stride[i] - padding[i]
        end = np.minimum(start + kernel[i], n + padding[i])
        length = end - start if include_pad else np.minimum(end, n) - np.maximum(start, 0)
        whole = whole * length.reshape(-1, *(1,) * (len(spatial) - 1 - i))
    return np.asarray(whole).astype(dtype)


@rounded_once()
def _avg_pool(self: Any, how: AvgHow, asked: Any = None) -> Any:
    """The mean of each window."""
    kernel, stride, padding, count, *_ = how
    spatial = self.shape[self.ndim - len(kernel) :]
    xp = padded(self, padding, _overhang(spatial, how))
    out = None
    for tap in taps(kernel, stride, (1,) * len(kernel), count):
        out = xp[tap].copy() if out is None else np.add(out, xp[tap], out=out)
    divisor = _divisor(spatial, how, self.dtype)
    return out / divisor if self.dtype.kind in "fc" else np.trunc(out / divisor).astype(self.dtype)


def _avg_pool_back(grad: Any, self: Any, how: AvgHow) -> Any:
    kernel, stride, padding, count, *_ = how
    spatial = self.shape[self.ndim - len(kernel) :]
    share = grad / _divisor(spatial, how, grad.dtype)
    whole = tuple(n + p + a for n, p, a in zip(spatial, padding, _overhang(spatial, how), strict=True))
    out = np.zeros(grad.shape[: grad.ndim - len(kernel)] + whole, grad.dtype)
    for tap in taps(kernel, stride, (1,) * len(kernel), count):
        out[tap] += share
    return np.ascontiguousarray(out[inner(padding, spatial)])


def _rows(dims: int, kinds: str) -> None:
    """The pool and its transpose, which takes the input for its size: the input's second gradient is zeros."""
    name, back = f"_avg_pool{dims}d", f"_avg_pool{dims}d_backward"
    linear(
        name, _avg_pool, node=f"AvgPool{dims}DBackward0", keeps="asked", kinds=kinds,
        layout="rows" if dims == 3 else "format", self=lambda g, self, how: getattr(F, back)(g, self, how),
    )  # fmt: skip
    function(
        back, _avg_pool_back, node=f"AvgPool{dims}DBackwardBackward0", tensors="grad self",
        grad=lambda g, how: getattr(F, name)(g, how), self=zero_gradient,
    )  # fmt: skip


_rows(2, "fl")
_rows(3, "wl")


# Max pools: the largest element of each window, in one to three dimensions, and their transposes.

MaxHow = tuple[Sizes, Sizes, Sizes, Sizes, Sizes]


def _max_overhang(spatial: Sizes, how: MaxHow) -> Sizes:
    kernel, stride, padding, dilation, count = how
    return overhang(spatial, window_span(kernel, dilation), stride, padding, count)


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _max_windows(x: Any, how: MaxHow) -> tuple[Any, Any]:
    """The largest element of each window (the first of equal ones), and its position."""
    kernel, stride, padding, dilation, count = how
    spatial = x.shape[x.ndim - len(kernel) :]
    lowest = _lowest(x.dtype)
    xp = padded(x, padding, _max_overhang(spatial, how), lowest)
    counter = np.dtype(np.uint8) if math.prod(kernel) <= 256 else np.dtype(np.uint32)
    best: Any = None
    for k, tap in enumerate(taps(kernel, stride, dilation, count)):
        if best is None:
            best = np.array(xp[tap], order="C")
            positions = np.zeros(best.shape, counter)
            continue
        window = np.ascontiguousarray(xp[tap])  # it is read twice, and in steps that takes twice as long
        # k grows, so the later of two improvements is the larger number
        np.maximum(positions, np.multiply(window > best, counter.type(k), dtype=counter), out=positions)
        np.maximum(best, window, out=best)
    if x.dtype.kind == "f":
        usual = np.isfinite(np.add.reduce(best, axis=None))
    else:
        usual = xp is x or not best.size or np.minimum.reduce(best, axis=None) > lowest
    return best, positions if usual else _positions_exactly(xp, spatial, how)


def _positions_exactly(xp: Any, spatial: Sizes, how: MaxHow) -> Any:
    """As torch has it, the last NaN of a window wins, and padding never does."""
    kernel, stride, padding, dilation, count = how
    within = padded(np.ones(spatial, bool), padding, _max_overhang(spatial, how))
    best = np.full((*xp.shape[: xp.ndim - len(kernel)], *count), _lowest(xp.dtype), xp.dtype)
    positions, found = np.zeros(best.shape, np.uint32), np.zeros(count, bool)
    for k, tap in enumerate(taps(kernel, stride, dilation, count)):
        window = xp[tap]
        better = (window > best) | (window != window) | (within[tap] & ~found)
        best = np.where(better, window, best)
        positions[better] = k
        found |= within[tap]
    return positions


def _flat_indices(positions: Any, spatial: Sizes, how: MaxHow) -> Any:
    """Positions as torch counts them: the element's number in the unpadded spatial dimensions.

    What classes and modes that were asked returned is counted so already.
    """
    if positions.dtype == np.int64:
        return positions
    kernel, stride, padding, dilation, count = how
    pitch = [math.prod(spatial[i + 1 :]) for i in range(len(spatial))]
    inside = [np.arange(k) * d * p for k, d, p in zip(kernel, dilation, pitch, strict=True)]
    starts = [(np.arange(c) * t - before) * p for c, t, before, p in zip(count, stride, padding, pitch, strict=True)]
    flat = functools.reduce(np.add.outer, inside).reshape(-1).take(positions, mode="clip")  # no test of each number
    flat += functools.reduce(np.add.outer, starts)
    return flat


def _max_pool(self: Any, how: MaxHow, asked: Any = None) -> Any:
    """``asked`` is (stride, whether sizes are rounded up) as the caller gave them, which PyTorch's node shows."""
    return _max_windows(self, how)


def _max_pool_with_indices(self: Any, how: MaxHow, asked: Any = None) -> Any:
    values, positions = _max_windows(self, how)
    return values, _flat_indices(positions, self.shape[self.ndim - len(how[0]) :], how)


def _max_pool_rule(name: str) -> Any:
    """Each gradient to the element that won its window."""

    def rule(g: Any, positions: Any, self: Any, how: MaxHow) -> Any:
        dims = len(how[0])
        return getattr(F, f"_{name}_backward")(
            g, F._flat_positions(positions, tuple(self.shape[-dims:]), how), self, dims
        )

    return rule


def _max_pool_rule_by_indices(name: str) -> Any:
    """The same by the indices that the caller got, too."""
    return lambda g, indices, self, how: getattr(F, f"_{name}_backward")(g[0], indices, self, len(how[0]))


def _indices_for_hooks(positions: Any, self: Any, how: MaxHow) -> Any:
    return _flat_indices(positions, self.shape[self.ndim - len(how[0]) :], how)


nondifferentiable("_flat_positions", _flat_indices, tensors="positions")


for _name in ("MaxPool2DWithIndices", "MaxPool3DWithIndices", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D"):
    function(
        f"_{_name}", _max_pool, node=f"{_name}Backward0", aux=("positions",), self=_max_pool_rule(_name), keeps="asked",
        shown={"result1": "positions"}, for_hooks={"positions": _indices_for_hooks}, layout="format",
    )  # fmt: skip
    function(
        f"_{_name}_and_indices", _max_pool_with_indices, node=f"{_name}Backward0", results="values indices",
        nondiff=(1,), self=_max_pool_rule_by_indices(_name), keeps="asked", shown={"result1": "indices"},
        layout="format",
    )  # fmt: skip


# -- elements by their number in the spatial dimensions, where windows are irregular


def _flat(indices: Any, sizes: Sizes, dims: int) -> Any:
    """Numbers within the spatial dimensions as numbers within the whole array."""
    lead, area = math.prod(sizes[: len(sizes) - dims]), math.prod(sizes[len(sizes) - dims :])
    count = math.prod(indices.shape[indices.ndim - dims :])
    return (indices.reshape(lead, count) + np.arange(lead)[:, None] * area).reshape(-1)


def _flat_take(self: Any, indices: Any, dims: int) -> Any:
    return self.reshape(-1)[_flat(indices, self.shape, dims)].reshape(indices.shape)


def _flat_add(grad: Any, indices: Any, sizes: Sizes, dims: int) -> Any:
    out = np.zeros(math.prod(sizes), grad.dtype)
    np.add.at(out, _flat(indices, sizes, dims), grad.reshape(-1))
    return out.reshape(sizes)


def _flat_put(self: Any, indices: Any, sizes: Sizes, dims: int) -> Any:
    out = np.zeros(math.prod(sizes), self.dtype)
    out[_flat(indices, sizes, dims)] = self.reshape(-1)
    return out.reshape(sizes)


linear(
    "_flat_take", _flat_take, node="GatherBackward0", tensors="self indices",
    self=lambda g, indices, self_sizes, dims: F._flat_add(g, indices, tuple(self_sizes), dims),
)  # fmt: skip
linear(
    "_flat_add", _flat_add, node="ScatterAddBackward0", tensors="grad indices",
    grad=lambda g, indices, dims: F._flat_take(g, indices, dims),
)  # fmt: skip


def _flat_add_backward(grad: Any, indices: Any, self: Any, dims: int) -> Any:
    """The gradients of a pool of ``self``, whose own second gradient is zeros."""
    return _flat_add(grad, indices, self.shape, dims)


for _pool in ("MaxPool2DWithIndices", "MaxPool3DWithIndices", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D",
              "FractionalMaxPool2D", "FractionalMaxPool3D"):  # fmt: skip
    function(
        f"_{_pool}_backward", _flat_add_backward, node=f"{_pool}BackwardBackward0", tensors="grad indices self",
        grad=lambda g, indices, dims: F._flat_take(g, indices, dims), self=zero_gradient,
    )  # fmt: skip
for _dims in (2, 3):
    linear(
        f"_max_unpool{_dims}d", _flat_put, node=f"MaxUnpool{_dims}DBackward0", tensors="self indices",
        self=lambda g, indices, dims: F._flat_take(g, indices, dims), kinds="f", layout="format",
    )  # fmt: skip


def _max_of_cells(x: Any, cells: Any, dims: int) -> tuple[Any, Any]:
    """The largest element of each cell: ``cells(output index)`` gives the slices to look at."""
    lead, spatial = x.shape[: x.ndim - dims], x.shape[x.ndim - dims :]
    numbers = np.arange(math.prod(spatial)).reshape(spatial)
    shape, slices_of = cells
    values, indices = np.empty(lead + shape, x.dtype), np.empty(lead + shape, np.int64)
    for at in np.ndindex(*shape):
        cell = (..., *slices_of(at))
        window = x[cell]
        flat = window.reshape(*lead, math.prod(window.shape[len(lead) :]))
        best = np.expand_dims(np.argmax(flat, -1), -1)
        values[(..., *at)] = np.take_along_axis(flat, best, -1)[..., 0]
        indices[(..., *at)] = numbers[cell].reshape(-1)[best[..., 0]]
    return values, indices


def _uneven_cells(spatial: Sizes, output_size: Sizes) -> Any:
    """Adaptive pooling: cell ``i`` of ``m`` covers ``floor(i n / m)`` to ``ceil((i + 1) n / m)``."""
    return output_size, lambda at: [
        slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(at, spatial, output_size, strict=True)
    ]


def _adaptive_max_pool(self: Any, output_size: Sizes) -> Any:
    dims = len(output_size)
    return _max_of_cells(self, _uneven_cells(self.shape[self.ndim - dims :], output_size), dims)


def _fractional_max_pool(self: Any, kernel_size: Sizes, output_size: Sizes, starts: Any) -> Any:
    """``starts[n][c][dim]`` is where the windows of one plane begin."""
    dims = len(output_size)
    lead = self.shape[: self.ndim - dims]
    values, indices = np.empty(lead + output_size, self.dtype), np.empty(lead + output_size, np.int64)
    for plane in np.ndindex(*lead):
        begin = starts[plane]

        def cell(at: Any, begin: Any = begin) -> Any:
            return [slice(b[i], b[i] + k) for i, b, k in zip(at, begin, kernel_size, strict=True)]

        values[plane], indices[plane] = _max_of_cells(self[plane], (output_size, cell), dims)
    return values, indices


def _by_index(name: str) -> Any:
    return lambda g, indices, self, output_size: getattr(F, f"_{name}_backward")(g[0], indices, self, len(output_size))


for _dims in (2, 3):
    function(
        f"_adaptive_max_pool{_dims}d", _adaptive_max_pool, node=f"AdaptiveMaxPool{_dims}DBackward0",
        results="values indices", nondiff=(1,), self=_by_index(f"AdaptiveMaxPool{_dims}D"), kinds="f",
        layout="format" if _dims == 2 else "rows",
    )  # fmt: skip
    function(
        f"_fractional_max_pool{_dims}d", _fractional_max_pool, node=f"FractionalMaxPool{_dims}DBackward0",
        results="values indices", nondiff=(1,), self=_by_index(f"FractionalMaxPool{_dims}D"), keeps="kernel_size",
    )  # fmt: skip

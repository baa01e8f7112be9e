"""Sampling at the points of a grid, and grids of affine maps.

For every dimension a point has a few *taps*: the elements it reads and their weights, which depend on how far the point
lies behind the first of them.  The result sums over the taps of all dimensions.  Values, gradients and gradients of
gradients of every mode follow from the taps, their weights and the slopes of the weights.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ...core.base import TensorBase, wrap
from ...core.registry import F
from ...kernels.masking import kept
from ...rules.backward_operators import joint_backward_operator
from ...table.rows import function, linear

Sizes = tuple[int, ...]


class Tap(NamedTuple):
    """One element read along one dimension, for every point ``(N, points)``."""

    index: Any
    valid: Any
    weight: Any
    slope: Any


# -- where points lie


def _reflected(x: Any, low2: int, high2: int) -> tuple[Any, Any]:
    """Coordinates mirrored between half of ``low2`` and half of ``high2``, and the sign of their slope."""
    if low2 == high2:
        return np.zeros_like(x), np.zeros_like(x)
    low, span = low2 / 2, (high2 - low2) / 2
    sign = np.where(x < low, -1.0, 1.0)
    distance = np.abs(x - low)
    turns = np.floor(distance / span)
    rest = distance - turns * span
    even = turns % 2 == 0
    return np.where(even, rest + low, span - rest + low), np.where(even, sign, -sign)


def _brought_in(x: Any, n: int, padding: str, align: bool, nowhere: int = 0) -> tuple[Any, Any]:
    """Coordinates after padding, and the slope of that; ``nowhere`` is where NaN comes to lie."""
    if padding == "zeros":
        return x, np.ones_like(x)
    slope = np.ones_like(x)
    if padding == "reflection":
        x, slope = _reflected(x, 0, 2 * (n - 1)) if align else _reflected(x, -1, 2 * n - 1)
    x = np.where(np.isnan(x), nowhere, x)
    return np.clip(x, 0, n - 1), np.where((x <= 0) | (x >= n - 1), 0.0, slope)


def _tap(at: Any, n: int, weight: Any, slope: Any) -> Tap:
    valid = (at >= 0) & (at <= n - 1)
    with np.errstate(invalid="ignore"):
        index = np.where(valid, at, 0).astype(np.int64)
    return Tap(index, valid, weight, slope)


def _cubic(f: Any, distance: int) -> tuple[Any, Any]:
    """Keys' kernel (a = -0.75) at the tap ``distance`` behind the point's floor, and its slope in ``f``."""
    a = -0.75
    sign = 1.0 if distance <= 0 else -1.0
    x = (f - distance) * sign
    if distance in (0, 1):
        return ((a + 2) * x - (a + 3)) * x * x + 1, ((3 * (a + 2)) * x - 2 * (a + 3)) * x * sign
    return ((x - 5) * x + 8) * x * a - 4 * a, ((3 * x - 10) * x + 8) * (a * sign)


def _scaled(x: Any, n: int, align: bool, volume: bool) -> Any:
    """Coordinates in elements for those from -1 to 1, with the roundings of PyTorch's kernels: nearest ones depend on
    them."""
    number = x.dtype.type
    if volume:
        return (x + number(1)) / number(2) * number(n - 1) if align else ((x + number(1)) * number(n) - number(1)) / 2
    return (x + number(1)) * number((n - 1) / 2) if align else (x + number(1)) * number(n / 2) - number(0.5)


def _taps(points: Any, n: int, how: tuple[str, str, bool], volume: bool) -> tuple[list[Tap], Any]:
    """The taps of one dimension, and the slope of the coordinate in the grid's value."""
    mode, padding, align = how
    scale, shift = ((n - 1) / 2 if align else n / 2), (n - 1) / 2
    plain = points._array if isinstance(points, TensorBase) else points
    raw = _scaled(plain, n, align, volume)
    if mode == "bicubic":
        value, slope, at = raw, np.full_like(raw, scale), points * scale + shift
    else:
        value, bend = _brought_in(raw, n, padding, align, n - 1 if volume else 0)
        slope = bend * scale
        at = _moved(points, plain, value, slope)
    if mode == "nearest":
        return [_tap(np.rint(value), n, 1.0, 0.0)], slope
    low = np.floor(value)
    f = at - _like(low, points)
    if mode == "bilinear":
        return [_tap(low, n, 1 - f, -1.0), _tap(low + 1, n, f, 1.0)], slope
    return [_tap(_brought_in(low + d, n, padding, align)[0], n, *_cubic(f, d)) for d in (-1, 0, 1, 2)], slope


def _moved(points: Any, plain: Any, value: Any, slope: Any) -> Any:
    """Coordinates of the value and slope that were found; among tensors they depend on the points that are finite."""
    if points is plain:
        return value
    near = np.isfinite(plain)
    start = np.where(near, value - np.where(near, plain, 0) * slope, value)
    return F._kept(points, wrap(near)) * _like(slope, points) + _like(start, points)


def _like(constant: Any, other: Any) -> Any:
    """A constant as tensor among tensors, in the other's precision."""
    if isinstance(other, TensorBase):
        return wrap(np.asarray(constant, other._sig.numpy))
    return np.asarray(constant, other.dtype)


def _dimensions(grid: Any, spatial: Sizes, how: tuple[str, str, bool]) -> list[tuple[list[Tap], Any]]:
    """Taps of each spatial dimension; the grid's last dimension counts them from the last one."""
    rank = len(spatial)
    n = grid.shape[0]
    flat = F.reshape(grid, (n, -1, rank)) if grid.shape[0] and 0 not in grid.shape else F.reshape(grid, (n, 0, rank))
    return [_taps(F.select(flat, 2, rank - 1 - axis), size, how, rank > 2) for axis, size in enumerate(spatial)]


def _share(factors: list[Any], valid: Any) -> Any:
    """The product of weights; in volumes PyTorch's is 0 for what lies outside, also infinitely far away."""
    total = factors[0]
    for f in factors[1:]:
        total = total * f
    if len(factors) < 3 or not hasattr(total, "shape"):
        return total
    return F._kept(total, wrap(valid) if isinstance(total, TensorBase) else valid)


def _flat_index(taps: tuple[Tap, ...], spatial: Sizes) -> tuple[Any, Any]:
    index: Any = 0
    for tap, n in zip(taps, spatial, strict=True):
        index = index * n + tap.index
    return index, np.logical_and.reduce([t.valid for t in taps])


# -- reading and writing elements by number


def _pick(x: Any, index: Any, valid: Any) -> Any:
    """``(N, C, *spatial)`` at ``(N, points)``: ``(N, C, points)``, 0 where not valid."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    if not flat.size:
        return np.zeros((*x.shape[:2], index.shape[1]), x.dtype)
    return kept(np.take_along_axis(flat, index[:, None], 2), valid[:, None])


def _drop(grad: Any, index: Any, valid: Any, sizes: Sizes) -> Any:
    n, c = sizes[:2]
    out = np.zeros((n, c, int(np.prod(sizes[2:]))), grad.dtype)
    rows, channels = np.arange(n)[:, None, None], np.arange(c)[:, None]
    np.add.at(out, (rows, channels, index[:, None]), kept(grad, valid[:, None]))
    return out.reshape(sizes)


linear(
    "_grid_pick", _pick, node="GatherBackward0", tensors="x",
    x=lambda g, index, valid, x_sizes: F._grid_drop(g, index, valid, tuple(x_sizes)),
)  # fmt: skip
linear(
    "_grid_drop", _drop, node="ScatterAddBackward0", tensors="grad",
    grad=lambda g, index, valid: F._grid_pick(g, index, valid),
)  # fmt: skip


# -- the sampler


def _grid_sample(input: Any, grid: Any, how: tuple[str, str, bool]) -> Any:  # noqa: A002
    spatial = input.shape[2:]
    out: Any = np.zeros((*input.shape[:2], int(np.prod(grid.shape[1:-1]))), input.dtype)
    for taps in itertools.product(*(t for t, _ in _dimensions(grid, spatial, how))):
        index, valid = _flat_index(taps, spatial)
        weight = np.asarray(_share([t.weight for t in taps], valid), input.dtype)
        out += _pick(input, index, valid) * np.broadcast_to(weight, index.shape)[:, None]
    return out.reshape(*input.shape[:2], *grid.shape[1:-1])


def _grid_sample_grads(g: Any, needs: Any, input: Any, grid: Any, how: tuple[str, str, bool]) -> Any:  # noqa: A002
    """Gradients of input and grid, summed over the taps that each point reads."""
    spatial = tuple(input.shape[2:])
    n, c = input.shape[:2]
    flat = F.reshape(g, (n, c, int(np.prod(grid.shape[1:-1]))))
    dimensions = _dimensions(grid, spatial, how)
    into_input: Any = None
    into_axes: list[Any] = [0.0] * len(spatial)
    for taps in itertools.product(*(t for t, _ in dimensions)):
        index, valid = _flat_index(taps, spatial)
        if needs[0]:
            weight = _share([t.weight for t in taps], valid)
            weighted = flat * (F.unsqueeze(weight, 1) if hasattr(weight, "shape") else weight)
            part = F._grid_drop(weighted, index, valid, (n, c, *spatial))
            into_input = part if into_input is None else into_input + part
        if needs[1] and how[0] != "nearest":
            along = F._sum_dim(flat * F._grid_pick(input, index, valid), (1,), False)
            for axis in range(len(spatial)):
                factors = [t.slope if k == axis else t.weight for k, t in enumerate(taps)]
                into_axes[axis] = into_axes[axis] + along * _share(factors, valid)
    return into_input, _into_grid(into_axes, dimensions, grid, how) if needs[1] else None


def _into_grid(axes: list[Any], dimensions: Any, grid: Any, how: tuple[str, str, bool]) -> Any:
    if how[0] == "nearest":
        return F.zeros_like(grid)
    parts = [a * _like(slope, grid) for a, (_, slope) in zip(axes, dimensions, strict=True)]
    return F.reshape(F.stack(parts[::-1], 2), tuple(grid.shape))


for _dims in (2, 3):
    function(
        f"_grid_sampler_{_dims}d", _grid_sample, node=f"GridSampler{_dims}DBackward0", tensors="input grid",
        joint=joint_backward_operator(f"GridSampler{_dims}D", _grid_sample_grads, "input grid"), kinds="f",
    )  # fmt: skip


# -- grids of affine maps


def _base_grid(spatial: Sizes, align: bool, dtype: Any) -> Any:
    """Homogeneous coordinates of all points: ``(points, dims + 1)``, the last dimension first."""
    lines = []
    for n in spatial:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align else line * ((n - 1) / n))
    mesh = np.meshgrid(*lines, indexing="ij")
    columns = [m.reshape(-1) for m in reversed(mesh)]
    return np.stack([*columns, np.ones_like(columns[0])], 1).astype(dtype)


def _affine_grid(theta: Any, size: Sizes, align: bool) -> Any:
    base = _base_grid(size[2:], align, theta.dtype)
    return np.matmul(base, theta.swapaxes(1, 2)).reshape(theta.shape[0], *size[2:], theta.shape[1])


def _affine_grid_back(grad: Any, size: Sizes, align: bool) -> Any:
    base = _base_grid(size[2:], align, grad.dtype)
    rows = grad.reshape(grad.shape[0], -1, grad.shape[-1])
    return np.matmul(rows.swapaxes(1, 2), base)


linear("_affine_grid", _affine_grid, node="AffineGridGeneratorBackward0",
       theta=lambda g, size, align: F._affine_grid_back(g, size, align), real_only="affine_grid_generator")  # fmt: skip
linear("_affine_grid_back", _affine_grid_back, node="AffineGridGeneratorBackwardBackward0", tensors="grad",
       grad=lambda g, size, align: F._affine_grid(g, size, align))  # fmt: skip

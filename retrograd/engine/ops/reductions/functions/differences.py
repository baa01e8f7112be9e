"""Differences, areas, slopes and covariances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.base import TensorBase
from ....core.dtypes import scalar_name
from ....core.registry import OPS, F
from ....rules.by_number import over, times
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim, dims_given

# -- differences and areas


@public("diff", out=True)
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:  # noqa: A002
    """Differences of neighbours along ``dim``, ``n`` times."""
    check_tensor("diff", input)
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = checked_dim(dim, input.ndim)
    if any(t.ndim != input.ndim for t in (prepend, append) if t is not None):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if n == 0:
        return F.zeros_like(input).add_(input)
    parts = [t for t in (prepend, input, append) if t is not None]
    t = F.cat(parts, axis) if len(parts) > 1 else input
    subtract = F.logical_xor if t._sig.kind == "b" else F.sub
    for _ in range(n):
        size = t.shape[axis]
        before = F._slice(t, dim, 0, max(size - 1, 0))
        t = subtract(F._slice(t, dim, min(1, size), size), before)
    return t


def _neighbours(t: Any, dim: int) -> tuple[Any, Any]:
    """All entries of a dimension but the last one, and all but the first."""
    return F._slice(t, dim, 0, -1, 1), F._slice(t, dim, 1, None, 1)


def _steps(y: Any, x: Any, dim: int) -> Any:
    """The distances of the places ``x``, in a shape that multiplies the samples ``y``."""
    shape = tuple(x.shape)
    if x.ndim == 1:
        axis = checked_dim(dim, y.ndim)
        if shape[0] != y.shape[axis]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        shape = tuple([shape[0] if d == axis else 1 for d in range(y.ndim)])
        x = F._view(x, shape)
    elif x.ndim < y.ndim:
        x = F._view(x, (1,) * (y.ndim - x.ndim) + shape)
    left, right = _neighbours(x, dim)
    return right - left


def _area(name: str, y: Any, x: Any, dx: Any, dim: int) -> Any:
    """The area under ``y`` by the trapezoidal rule, whole or running."""
    check_tensor(name, y, name="y")
    if y._sig.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if isinstance(x, TensorBase) and x._sig.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    n = y.shape[checked_dim(dim, y.ndim)]
    if name == "trapezoid" and x is None:
        if n == 0:
            return F._sum_dim(y.detach(), dim, dtype=y.dtype)
        ends = F.select(y, dim, 0) + F.select(y, dim, -1)
        return times(F._sum_dim(y, dim) - times(ends, 0.5), float(dx))
    steps = None if x is None else _steps(y, x, dim)
    left, right = _neighbours(y, dim)
    if steps is None:
        return F.cumsum(times(left + right, dx / 2.0), dim)
    pieces = (left + right) * steps
    return over(F._sum_dim(pieces, dim) if name == "trapezoid" else F.cumsum(pieces, dim), 2.0)


@public("trapezoid", method=False)
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The area under samples by the trapezoidal rule."""
    return _area("trapezoid", y, x, dx, dim)


public("trapz", method=False)(trapezoid)


@public("cumulative_trapezoid", method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The area under samples up to each of them."""
    return _area("cumulative_trapezoid", y, x, dx, dim)


# -- covariance


@public("cov")
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:  # noqa: A002
    """Covariance of the rows; columns may be counted and weighted."""
    check_tensor("cov", input)
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} "
                           "dimensions")  # fmt: skip
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    if rows._sig.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    for name, kinds, given in (("fweights", "iu", fweights), ("aweights", "f", aweights)):
        if given is not None:
            _check_weights(name, kinds, given, rows.shape[1])
    weight = _weights(fweights, aweights)
    total = rows.shape[1] if weight is None else F.sum(weight)
    mean = F._sum_dim(rows if weight is None else rows * weight, 1) / total
    freedom = _freedom(total, weight, aweights, correction)
    centred = rows - F.unsqueeze(mean, 1)
    weighted = centred if weight is None else centred * weight
    return (F.mm(centred, F.t(weighted).conj()) / freedom).squeeze()


def _check_weights(name: str, kinds: str, weights: Any, count: int) -> None:
    """``RuntimeError`` unless the weights are a vector of one number for each observation."""
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    if weights._sig.kind not in kinds:
        kind = "integral" if kinds == "iu" else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {scalar_name(weights._sig.numpy)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if (weights._array < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _weights(fweights: Any, aweights: Any) -> Any:
    if fweights is not None and aweights is not None:
        return fweights * aweights
    return aweights if fweights is None else fweights


def _freedom(total: Any, weight: Any, aweights: Any, correction: int) -> Any:
    if weight is None:
        return max(total - correction, 0)
    lost = correction if aweights is None else times(F.sum(weight * aweights), correction) / total
    freedom = total - lost
    return freedom if freedom._array > 0 else freedom.zero_()


@public("corrcoef")
def corrcoef(input: Any) -> Any:  # noqa: A002
    """Correlation of the rows."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    covariance = cov(input)
    if covariance.ndim == 0:
        return covariance / covariance
    variances = F.diagonal(covariance)
    scale = F.sqrt(variances.real if covariance._sig.kind == "c" else variances)
    found = covariance / F._view(scale, (-1, 1)) / F._view(scale, (1, -1))
    if found._sig.kind == "c":
        return OPS["_complex"](found.real.clip(-1, 1), found.imag.clip(-1, 1))
    return found.clip(-1, 1)


# -- slopes


@public("gradient", method=False)
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:  # noqa: A002
    """Derivatives along each dimension by central differences."""
    if input._sig.numpy.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    spacing = 1 if spacing is None else spacing
    dims = tuple(range(input.ndim)) if dim is None else dims_given(dim)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, but got a "
            f"list of length {len(spacings)}"
        )
    axes = [checked_dim(d, input.ndim) for d in dims]
    for d in axes:
        if axes.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return tuple(_slope(input, s, d, edge_order) for s, d in zip(spacings, axes, strict=True))


def _pieces_along(t: Any, axis: int) -> Callable[[int, int], Any]:
    return lambda start, end: F._slice(t, axis, start, end)


def _slope(t: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Differences along an axis over even spacing: central inside, one-sided at both ends."""
    n = t.shape[axis]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if isinstance(spacing, TensorBase) and spacing.ndim:
        return _slope_of_places(t, diff(spacing).reshape((-1,) + (1,) * (t.ndim - 1 - axis)), axis, edge_order)
    take = _pieces_along(t, axis)
    inner = over(over(take(2, n) - take(0, n - 2), spacing), 2)
    if edge_order == 1:
        first = over(take(1, 2) - take(0, 1), spacing)
        last = over(take(n - 1, n) - take(n - 2, n - 1), spacing)
    else:
        first = times(take(0, 1), -1.5) + times(take(1, 2), 2) - times(take(2, 3), 0.5)
        last = times(take(n - 1, n), 1.5) - times(take(n - 2, n - 1), 2) + times(take(n - 3, n - 2), 0.5)
        first, last = over(first, spacing), over(last, spacing)
    return F.cat([first, inner, last], axis)


def _slope_of_places(t: Any, step: Any, axis: int, edge_order: int) -> Any:
    """As ``_slope``, over uneven spacing: by the parabola through three neighbours."""
    n = t.shape[axis]
    take, at = _pieces_along(t, axis), _pieces_along(step, 0)
    low, high = at(0, n - 2), at(1, n - 1)
    inner = (
        (-high / (low * (low + high))) * take(0, n - 2)
        + ((high - low) / (low * high)) * take(1, n - 1)
        + (low / (high * (low + high))) * take(2, n)
    )
    first, last = at(0, 1), at(n - 2, n - 1)
    if edge_order == 1:
        start, end = (take(1, 2) - take(0, 1)) / first, (take(n - 1, n) - take(n - 2, n - 1)) / last
    else:
        near, middle, far = _edge(first, at(1, 2))
        start = near * take(0, 1) + middle * take(1, 2) + far * take(2, 3)
        near, middle, far = (-factor for factor in _edge(last, at(n - 3, n - 2)))
        end = far * take(n - 3, n - 2) + middle * take(n - 2, n - 1) + near * take(n - 1, n)
    return F.cat([start, inner, end], axis)


def _edge(h: Any, k: Any) -> tuple[Any, Any, Any]:
    """Factors of the outermost value, the next and the one after, with steps ``h`` and ``k`` between them."""
    return -(2 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))

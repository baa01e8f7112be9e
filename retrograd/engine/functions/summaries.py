"""Products, spreads, medians, quantiles, norms and other reductions with torch's overloads."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import TensorBase, wrap
from ..convert import checked_dim
from ..public import check_tensor, public
from ..registry import OPS, F
from .reducing import Extreme

MinMax = namedtuple("MinMax", ["min", "max"])
"""What ``aminmax`` returns."""


@public("prod", out=True)
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Product of all elements, or along ``dim``."""
    check_tensor("prod", input)
    return F._prod(input, dtype) if dim is None else F._prod_dim(input, int(dim), keepdim, dtype)


def _spread_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
    """``dim``, correction and ``keepdim`` of ``var(unbiased)``, ``var(dim, unbiased, keepdim)``, ``var(dim, ...)``."""
    given = dict(kwargs)
    names = ["unbiased"] if args and isinstance(args[0], bool) else ["dim", "unbiased", "keepdim"]
    given.update(zip(names, args, strict=False))
    for alias, name in (("axis", "dim"), ("keepdims", "keepdim")):
        if alias in given:
            given[name] = given.pop(alias)
    dim, keepdim = given.pop("dim", None), given.pop("keepdim", False)
    correction = given.pop("correction", None)
    if "unbiased" in given:
        correction = int(given.pop("unbiased"))
    if given:
        raise TypeError(f"got an unexpected keyword argument '{next(iter(given))}'")
    if isinstance(dim, list):
        dim = tuple(dim)
    return dim, 1 if correction is None else correction, keepdim


def _spread(name: str, doc: str) -> None:
    row = OPS[f"_{name}"]

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        check_tensor(name, input)
        return row(input, *_spread_arguments(args, kwargs))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    plain = "mean" not in name
    public(name, out=plain, method=plain)(call)


_spread("var", "Variance over all elements or over ``dim``.")
_spread("std", "Standard deviation over all elements or over ``dim``.")
_spread("var_mean", "Variance and mean.")
_spread("std_mean", "Standard deviation and mean.")


@public("aminmax", out=True)
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
    """The smallest and the largest elements."""
    check_tensor("aminmax", input)
    return MinMax(*F._aminmax(input, dim, keepdim))


def _picked(name: str) -> None:
    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        check_tensor(name, input)
        if dim is None:
            return OPS[f"_{name}_all"](input)
        return Extreme(*OPS[f"_{name}"](input, dim, keepdim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The {name} of all elements, or along ``dim`` with its indices."
    public(name, out=True)(call)


_picked("median")
_picked("nanmedian")


@public("mode", out=True)
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: A002
    """The most frequent values along ``dim``, and where they are."""
    check_tensor("mode", input)
    return Extreme(*F._mode(input, dim, keepdim))


@public("nansum", out=True)
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Sum in which NaN counts as 0."""
    check_tensor("nansum", input)
    return F._nansum(input, dim, keepdim, dtype)


@public("nanmean", out=True)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Mean of what is not NaN."""
    check_tensor("nanmean", input)
    if input._sig.numpy.kind not in "fc":
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    count = F._sum_dim(F.logical_not(F.isnan(input.detach())), dim, keepdim)
    return F._nansum(input, dim, keepdim, dtype) / count


@public("count_nonzero")
def count_nonzero(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """How many elements are not zero."""
    check_tensor("count_nonzero", input)
    return F._count_nonzero(input, dim)


# -- quantiles


def _quantile(input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:  # noqa: A002
    check_tensor("quantile", input)
    if input._sig.numpy.name not in ("float32", "float64"):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    q = q if isinstance(q, TensorBase) else wrap(np.asarray(q, input._sig.numpy))
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q._sig.numpy != input._sig.numpy:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if not ((q._array >= 0) & (q._array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    ndim = input.ndim
    lines = input.reshape(-1) if dim is None else F.transpose(F.unsqueeze(input, -1), checked_dim(dim, ndim), -1)
    if dim is not None and not keepdim:
        lines = F._squeeze_dim(lines, checked_dim(dim, ndim))
    out = _interpolated(F._sort(lines, -1, False)[0], q, interpolation, ignore_nan)
    if dim is None and keepdim:
        out = out.reshape((1,) * ndim + (-1,))
    if q.ndim:
        out.unsqueeze_(0).transpose_(0, -1)
    return out.squeeze_(-1)


def _interpolated(ordered: Any, q: Any, interpolation: str, ignore_nan: bool) -> Any:
    values = ordered._array
    missing, n = np.isnan(values), values.shape[-1]
    if ignore_nan:
        ranks = q._array.reshape(-1) * np.maximum(n - missing.sum(-1, keepdims=True) - 1, 0)
    else:
        ranks = np.where(missing.any(-1, keepdims=True), n - 1, q._array.reshape(-1) * values.dtype.type(n - 1))
    ranks = ranks.astype(values.dtype)
    ranks = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}.get(interpolation, lambda r: r)(ranks)
    below = np.floor(ranks)
    low = F.gather(ordered, -1, wrap(below.astype(np.int64)))
    if interpolation not in ("linear", "midpoint"):
        return low
    weight = np.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return low.lerp_(F.gather(ordered, -1, wrap(np.ceil(ranks).astype(np.int64))), wrap(weight))


@public("quantile", out=True)
def quantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:  # fmt: skip
    """Quantiles of all elements or along ``dim``; NaN if there is any."""
    return _quantile(input, q, dim, keepdim, interpolation, False)


@public("nanquantile", out=True)
def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:  # fmt: skip
    """Quantiles of what is not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


# -- norms


@public("vector_norm", namespace="linalg", out=True)
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The ``ord``-norm of vectors; without ``dim``, of all elements."""
    check_tensor("linalg_vector_norm", x)
    return F._vector_norm(x, _number(ord), dim if not isinstance(dim, list) else tuple(dim), keepdim, dtype)


def _number(order: Any) -> Any:
    return order.item() if isinstance(order, TensorBase) else order


@public("norm", out=True)
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:  # noqa: A002
    """The ``p``-norm of all elements or along ``dim``; ``"nuc"`` sums singular values."""
    check_tensor("norm", input)
    dim = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if p == "nuc":
        from .matrix_norms import nuclear_norm

        return nuclear_norm(input, dim, keepdim)
    order = 2.0 if p in ("fro", None) else float(_number(p))
    return F._vector_norm(input, order, dim, keepdim, dtype)


@public("frobenius_norm", method=False, out=True)
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False) -> Any:  # noqa: A002
    """The square root of the sum of squares."""
    return F._vector_norm(input, 2.0, dim, keepdim)


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
    parts = [t for t in (prepend, input, append) if t is not None]
    t = F.cat(parts, axis) if len(parts) > 1 else input
    if n == 0:
        return F.zeros_like(t).add_(t)
    subtract = F.logical_xor if t._sig.numpy.kind == "b" else F.sub
    for _ in range(n):
        size = t.shape[axis]
        t = subtract(F._slice(t, axis, min(1, size), size), F._slice(t, axis, 0, max(size - 1, 0)))
    return t


def _steps(y: Any, x: Any, axis: int) -> Any:
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        return diff(x).reshape((-1,) + (1,) * (y.ndim - 1 - axis))
    return diff(x.reshape((1,) * (y.ndim - x.ndim) + tuple(x.shape)), dim=axis)


def _pieces(y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, Any, int]:
    axis = checked_dim(dim, y.ndim)
    n = y.shape[axis]
    both = F._slice(y, axis, 1, n), F._slice(y, axis, 0, max(n - 1, 0))
    return both, dx if x is None else _steps(y, x, axis), axis


def _area(name: str, y: Any, x: Any, dx: Any, dim: int) -> Any:
    check_tensor(name, y, name="y")
    if y._sig.numpy.kind == "b":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    (right, left), step, axis = _pieces(y, x, dx, dim)
    if name == "cumulative_trapezoid":
        if x is None:
            return F.cumsum((right + left) * (step / 2.0), axis)
        return F.cumsum((right + left) * step, axis) / 2.0
    if x is not None:
        return F._sum_dim((right + left) * step, axis) / 2.0
    n = y.shape[axis]
    if n == 0:
        return F._sum_dim(y, axis) * 1.0
    ends = F.select(y, axis, 0) + F.select(y, axis, n - 1)
    return (F._sum_dim(y, axis) - ends * 0.5) * dx


@public("trapezoid", method=False)
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The area under samples by the trapezoidal rule."""
    return _area("trapezoid", y, x, dx, dim)


@public("trapz", method=False)
def trapz(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The area under samples by the trapezoidal rule."""
    return _area("trapezoid", y, x, dx, dim)


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
    if rows._sig.numpy.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    weight = _weights(fweights, aweights)
    total = rows.shape[1] if weight is None else F.sum(weight)
    mean = F._sum_dim(rows if weight is None else rows * weight, 1, True) / total
    freedom = _freedom(total, weight, aweights, correction)
    centred = rows - mean
    weighted = centred if weight is None else centred * weight
    return (F.mm(centred, _adjoint(weighted)) / freedom).squeeze()


def _weights(fweights: Any, aweights: Any) -> Any:
    if fweights is not None and aweights is not None:
        return fweights * aweights
    return aweights if fweights is None else fweights


def _freedom(total: Any, weight: Any, aweights: Any, correction: int) -> Any:
    if weight is None:
        return max(total - correction, 0)
    lost = correction if aweights is None else correction * F.sum(weight * aweights) / total
    return (total - lost).clamp(min=0)


def _adjoint(t: Any) -> Any:
    flipped = F.transpose(t, -2, -1)
    return F.conj(flipped) if t._sig.numpy.kind == "c" else flipped


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
    scale = F.sqrt(covariance.diag().real if covariance._sig.numpy.kind == "c" else covariance.diag())
    found = covariance / F.unsqueeze(scale, -1) / F.unsqueeze(scale, 0)
    if found._sig.numpy.kind == "c":
        return OPS["_complex"](found.real.clip(-1, 1), found.imag.clip(-1, 1))
    return found.clip(-1, 1)


# -- slopes


@public("gradient", method=False)
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:  # noqa: A002
    """Slopes along each dimension by central differences."""
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)}, but got a "
            f"list of length {len(spacings)}"
        )
    return tuple(_slope(input, s, checked_dim(d, input.ndim), edge_order) for s, d in zip(spacings, dims, strict=True))


def _slope(t: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    n = t.shape[axis]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if isinstance(spacing, TensorBase) and spacing.ndim:
        return _slope_of_places(t, diff(spacing).reshape((-1,) + (1,) * (t.ndim - 1 - axis)), axis, edge_order)
    take: Callable[[int, int], Any] = lambda a, b: F._slice(t, axis, a, b)  # noqa: E731
    inner = (take(2, n) - take(0, n - 2)) / (2 * spacing)
    if edge_order == 1:
        first, last = (take(1, 2) - take(0, 1)) / spacing, (take(n - 1, n) - take(n - 2, n - 1)) / spacing
    else:
        first = (-1.5 * take(0, 1) + 2 * take(1, 2) - 0.5 * take(2, 3)) / spacing
        last = (1.5 * take(n - 1, n) - 2 * take(n - 2, n - 1) + 0.5 * take(n - 3, n - 2)) / spacing
    return F.cat([first, inner, last], axis)


def _slope_of_places(t: Any, step: Any, axis: int, edge_order: int) -> Any:
    n = t.shape[axis]
    take: Callable[[int, int], Any] = lambda a, b: F._slice(t, axis, a, b)  # noqa: E731
    at: Callable[[int, int], Any] = lambda a, b: F._slice(step, 0, a, b)  # noqa: E731
    low, high = at(0, n - 2), at(1, n - 1)
    inner = (
        take(0, n - 2) * (-high / (low * (low + high)))
        + take(1, n - 1) * ((high - low) / (low * high))
        + take(2, n) * (low / (high * (low + high)))
    )
    first, last = at(0, 1), at(n - 2, n - 1)
    if edge_order == 1:
        start, end = (take(1, 2) - take(0, 1)) / first, (take(n - 1, n) - take(n - 2, n - 1)) / last
    else:
        start, end = (
            _edge(take(0, 1), take(1, 2), take(2, 3), first, at(1, 2)),
            -_edge(take(n - 1, n), take(n - 2, n - 1), take(n - 3, n - 2), last, at(n - 3, n - 2)),
        )
    return F.cat([start, inner, end], axis)


def _edge(a: Any, b: Any, c: Any, h: Any, k: Any) -> Any:
    return -a * ((2 * h + k) / (h * (h + k))) + b * ((h + k) / (h * k)) - c * (h / (k * (h + k)))


def _running(name: str) -> None:
    def call(input: Any, dim: int) -> Any:  # noqa: A002
        check_tensor(name, input)
        return Extreme(*OPS[f"_{name}"](input, dim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Running {name[3:]}imum along ``dim``, and where it was reached."
    public(name, out=True)(call)


_running("cummax")
_running("cummin")
public("logsumexp", namespace="special", out=True)(lambda input, dim, keepdim=False: F.logsumexp(input, dim, keepdim))  # noqa: A006

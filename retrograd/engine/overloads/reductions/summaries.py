"""Products, spreads, medians, quantiles, norms and other reductions with torch's overloads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...return_types import named
from ...table.public import check_dim, check_tensor, public
from ...table.registry import OPS, F
from ...tensors.base import TensorBase, wrap
from ...tensors.convert import checked_dim
from ...tensors.dtypes import to_numpy_dtype
from ...tensors.numbers_ import real_number
from ..linalg.matrix_norms import nuclear_norm


@public("prod", out=True)
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Product of all elements, or along ``dim``."""
    check_tensor("prod", input)
    check_dim("prod", dim)
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
    return dim, 1 if correction is None else real_number(correction), keepdim


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
    check_dim("aminmax", dim)
    return named("aminmax", *F._aminmax(input, dim, keepdim))


def _picked(name: str) -> None:
    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        check_tensor(name, input)
        check_dim(name, dim)
        if dim is None:
            return OPS[f"_{name}_all"](input)
        return named(name, *OPS[f"_{name}"](input, dim, keepdim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The {name} of all elements, or along ``dim`` with its indices."
    public(name, out=True)(call)


_picked("median")
_picked("nanmedian")


@public("mode", out=True)
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: A002
    """The most frequent values along ``dim``, and where they are."""
    check_tensor("mode", input)
    check_dim("mode", dim, optional=False)
    return named("mode", *F._mode(input, dim, keepdim))


@public("nansum", out=True)
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Sum in which NaN counts as 0."""
    check_tensor("nansum", input)
    return F._nansum(input, dim, keepdim, dtype)


@public("nanmean", out=True)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Mean of what is not NaN."""
    check_tensor("nanmean", input)
    if dtype is not None and to_numpy_dtype(dtype).kind not in "fc":
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex "
            f"dtype. Got: {dtype}"
        )
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
    """The quantiles ``q`` along ``dim`` (in front, where ``q`` is a vector)."""
    check_tensor("quantile", input)
    q = _checked_points(input, q, interpolation)
    ndim = input.ndim
    if not ndim and dim is not None:
        checked_dim(dim, 0)
        dim = None
    lines = input.reshape(-1) if dim is None else F.transpose(F.unsqueeze(input, -1), checked_dim(dim, ndim), -1)
    if dim is not None and not keepdim:
        lines = F._squeeze_dim(lines, checked_dim(dim, ndim))
    out = _interpolated(F._sort(lines, -1, False)[0], q, interpolation, ignore_nan)
    if dim is None and keepdim:
        out = out.reshape((1,) * ndim + (-1,))
    if q.ndim:
        out.unsqueeze_(0).transpose_(0, -1)
    return out.squeeze_(-1)


def _checked_points(input: Any, q: Any, interpolation: str) -> Any:  # noqa: A002
    """Which quantiles are asked for, as a tensor; ``RuntimeError`` for what PyTorch has no quantiles of."""
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
    return q


def _interpolated(ordered: Any, q: Any, interpolation: str, ignore_nan: bool) -> Any:
    """The quantiles of sorted rows; a row with NaN gives NaN, unless NaN is left out."""
    values = ordered._array
    missing, n = np.isnan(values), values.shape[-1]
    if ignore_nan:
        last = np.maximum(n - missing.sum(-1, keepdims=True) - 1, 0).astype(values.dtype)
        exact = q.reshape(-1) * wrap(last)
    else:
        exact = F._where(wrap(missing.any(-1, keepdims=True)), wrap(values.dtype.type(n - 1)), q.reshape(-1) * (n - 1))
    ranks = exact._array
    rounding: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
    ranks = rounding[interpolation](ranks) if interpolation in rounding else ranks
    below = np.floor(ranks)
    low = F.gather(ordered, -1, wrap(below.astype(np.int64)))
    if interpolation not in ("linear", "midpoint"):
        return low
    weight = wrap(np.full_like(ranks, 0.5)) if interpolation == "midpoint" else exact - wrap(below)
    return low.lerp_(F.gather(ordered, -1, wrap(np.ceil(ranks).astype(np.int64))), weight)


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
    order = order.item() if isinstance(order, TensorBase) else order
    return order if isinstance(order, complex) else float(order)  # which the row refuses


@public("norm", out="exact")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:  # noqa: A002
    """The ``p``-norm of all elements or along ``dim``; ``"nuc"`` sums singular values."""
    check_tensor("norm", input)
    dim = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if p == "nuc":
        return nuclear_norm(input, dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    order = 2.0 if p in ("fro", None) else _number(p)
    return F._vector_norm(input, order, dim, keepdim, dtype)


@public("frobenius_norm", method=False, out=True)
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False) -> Any:  # noqa: A002
    """The square root of the sum of squares."""
    if not isinstance(dim, int) and len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return F._vector_norm(input, 2.0, dim, keepdim)


# -- running extremes


def _running(name: str) -> None:
    def call(input: Any, dim: int) -> Any:  # noqa: A002
        check_tensor(name, input)
        check_dim(name, dim, optional=False)
        return named(name, *OPS[f"_{name}"](input, dim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Running {name[3:]}imum along ``dim``, and where it was reached."
    public(name, out=True)(call)


_running("cummax")
_running("cummin")
public("logsumexp", namespace="special", out=True)(lambda input, dim, keepdim=False: F.logsumexp(input, dim, keepdim))  # noqa: A006

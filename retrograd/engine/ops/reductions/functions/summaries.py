"""Reductions with torch's overloads: sums, products, spreads, medians, segments, vector norms."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ....calls.out_argument import Out
from ....calls.refusals import refuse_kind
from ....core.absent import known_values
from ....core.argument_checks import real_number
from ....core.base import TensorBase, wrap
from ....core.dtypes import scalar_name, to_numpy_dtype
from ....core.narrow import kind_of
from ....core.registry import OPS, F
from ....generated.fast_path import MISSING
from ....return_types import named
from ....table.public import as_tensor_operand, check_dim, check_tensor, public
from ....warning import warn
from ...linalg.functions.matrix_functions import nuclear_norm

# Vector norms as recorded by PyTorch's functions that predate `linalg.vector_norm`.

_OF_ALL = OPS["_vector_norm"].with_node("NormBackward0")
_ALONG = OPS["_vector_norm"].with_node("NormBackward1")


def norm_of_all(x: Any, p: Any) -> Any:
    """The ``p``-norm of all elements."""
    return _OF_ALL(x, p, None, False)


def norm_along(x: Any, p: Any, dims: Any, keepdim: bool = False) -> Any:
    """The ``p``-norm along dimensions."""
    return _ALONG(x, p, dims, keepdim)


# Norms of vectors and of all elements.


@public("vector_norm", namespace="linalg", out=True)
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The ``ord``-norm of vectors; without ``dim``, of all elements."""
    check_tensor("linalg_vector_norm", x)
    return F._vector_norm(x, _number(ord), dim if not isinstance(dim, list) else tuple(dim), keepdim, dtype)


def _number(order: Any) -> Any:
    order = order.item() if isinstance(order, TensorBase) else order
    return order if isinstance(order, (int, float, complex)) else float(order)


@public("norm", out=Out(exact=True))
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:  # noqa: A002
    """The ``p``-norm of all elements or along ``dim``; ``"nuc"`` sums singular values."""
    check_tensor("norm", input)
    dim = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if p == "nuc":
        return nuclear_norm(input, dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "fro" and isinstance(dim, tuple) and len(dim) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    order = 2 if p in ("fro", None) else _number(p)
    if input.is_sparse and not dim:
        input = input.coalesce().values()  # noqa: A001
    return F._vector_norm(input, order, dim, keepdim, dtype)


@public("frobenius_norm", method=False, out=True)
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False) -> Any:  # noqa: A002
    """The square root of the sum of squares."""
    if not isinstance(dim, int) and len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return norm_along(input, 2.0, dim, keepdim)


# Reductions with torch's overloads.


@public("sum", out=True, row="sum", also={"axis": "dim"})
def sum(input: Any, dim: Any = MISSING, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A001, A002
    """Sum over all elements or over ``dim``."""
    check_tensor("sum", input)
    if dim is MISSING:
        return F.sum(input, dtype)
    return F._sum_dim(input, dim, keepdim, dtype)


@public("mean", out=True, row="mean", also={"axis": "dim"})
def mean(input: Any, dim: Any = MISSING, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """Mean over all elements or over ``dim``; floating and complex dtypes only."""
    check_tensor("mean", input)
    if dim is MISSING:
        return F.mean(input, dtype)
    return F._mean_dim(input, dim, keepdim, dtype)


def _extreme(name: str, pairwise: str) -> Any:
    """The public function ``max`` or ``min``."""

    def reduce(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:  # noqa: A002
        check_tensor(name, input)
        if isinstance(dim, TensorBase) or other is not None:
            return getattr(F, pairwise)(input, as_tensor_operand(dim if other is None else other))
        check_dim(name, dim)
        if dim is None:
            return getattr(F, f"_{name}_all")(input)
        return named(name, *getattr(F, f"_{name}_dim")(input, dim, keepdim))

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"The {name}imum of all elements, along ``dim`` (with indices), or of two tensors."
    return reduce


public("max", out=True)(_extreme("max", "maximum"))
public("min", out=True)(_extreme("min", "minimum"))


# Reductions of consecutive segments of a dimension.

_EMPTY = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "max": -math.inf, "min": math.inf}


@public("segment_reduce", method=False)
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """Sum, product, mean, maximum or minimum of consecutive segments of a dimension.

    ``lengths`` (or ``offsets``) have the shape of ``data`` up to ``axis``, where they say how long the segments are (or
    where they begin, and the last one ends).  ``initial`` stands before each segment; ``unsafe`` leaves out the test
    that lengths are not negative and that segments reach to the end.  Raises ``RuntimeError`` where they do not fit.
    """
    check_tensor("segment_reduce", data, name="data")
    refuse_kind("_segment_reduce_cpu", data._sig.numpy, "f")
    if reduce not in _EMPTY:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(_EMPTY)}, but got {reduce}")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): exactly one of lengths and offsets must be given")
    given = lengths if offsets is None else offsets
    refuse_kind("_segment_reduce_lengths_cpu_kernel1", given._sig.numpy, "iu")
    if given.ndim != axis + 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    counts = None if lengths is None else _counts(lengths, data.shape[axis])
    if counts is not None and not unsafe and (counts < 0).any():
        raise RuntimeError("lengths contains negative value!")
    to_the_end = lengths is not None and not unsafe
    ends = known_values(offsets) if counts is None else _ends(counts)
    return _rows_reduced(data, ends, reduce, initial, to_the_end)


def _counts(lengths: Any, size: int) -> Any:
    """The lengths of segments; of those that nobody knows the first has all."""
    counts = known_values(lengths)
    if lengths.is_meta:
        counts = counts.copy()
        counts[..., :1] = size
    return counts


def _ends(lengths: Any) -> Any:
    """Where segments begin and end, of their lengths along the last dimension."""
    before = np.zeros((*lengths.shape[:-1], 1), np.int64)
    return np.concatenate([before, lengths], -1).cumsum(-1)


def _rows_reduced(data: Any, ends: Any, reduce: str, initial: Any, to_the_end: bool) -> Any:
    """Reduce the segments of each row of ``data`` down to the dimension in which ``ends`` separate them."""
    if ends.ndim > 1:
        rows = range(data.shape[0])
        return F.stack([_rows_reduced(data[i], ends[i], reduce, initial, to_the_end) for i in rows], 0)
    size, points = data.shape[0], ends.tolist()
    if (to_the_end and points[-1] != size) or points[-1] > size or any(b < a for a, b in itertools.pairwise(points)):
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(0)")
    return F.stack([_reduced(data, reduce, a, b, initial) for a, b in itertools.pairwise(points)], 0)


def _reduced(data: Any, reduce: str, start: int, end: int, initial: Any) -> Any:
    part = F._slice(data, 0, start, end)
    if start == end or initial is not None:
        first = np.full((1, *data.shape[1:]), _EMPTY[reduce] if initial is None else initial, data._sig.numpy)
        part = F.cat([wrap(first).to(data.device), part], 0)
    if reduce in ("max", "min"):
        return (F.amax if reduce == "max" else F.amin)(part, 0, False)
    if reduce == "prod":
        return F._prod_dim(part, 0, False, None)
    total = F._sum_dim(part, 0)
    return total / (end - start) if reduce == "mean" and end > start else total


# Products, spreads, medians and other reductions with torch's overloads.


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
    correction = given.pop("correction", 1 if "dim" in given else None)  # as the overloads of PyTorch have it
    dim, keepdim = given.pop("dim", None), given.pop("keepdim", False)
    if "unbiased" in given:
        correction = int(given.pop("unbiased"))
    if given:
        raise TypeError(f"got an unexpected keyword argument '{next(iter(given))}'")
    if isinstance(dim, list):
        dim = tuple(dim)
    return dim, correction if correction is None else real_number(correction), keepdim


_NO_FREEDOM = (
    "{}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
    "divided by output numel)."
)


def _spread(name: str, doc: str) -> None:
    row = OPS[f"_{name}"]

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        check_tensor(name, input)
        dim, correction, keepdim = _spread_arguments(args, kwargs)
        result = row(input, dim, correction, keepdim)
        one = result[0] if isinstance(result, tuple) else result
        into_each = input._sig.shape.numel() // max(one._sig.shape.numel(), 1)
        if into_each <= (1 if correction is None else correction):
            warn(_NO_FREEDOM.format(name))
        return result

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
    if dtype is not None and kind_of(to_numpy_dtype(dtype)) not in "fc":
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex "
            f"dtype. Got: {dtype}"
        )
    if input._sig.kind not in "fc":
        kind = scalar_name(input._sig.numpy)
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {kind}")
    count = F._sum_dim(F.logical_not(F.isnan(input.detach())), dim, keepdim)
    return F._nansum(input, dim, keepdim, dtype) / count


@public("count_nonzero")
def count_nonzero(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """How many elements are not zero."""
    check_tensor("count_nonzero", input)
    return F._count_nonzero(input, dim)


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

"""Products, spreads, medians and other reductions with torch's overloads."""

from __future__ import annotations

from typing import Any

from ....return_types import named
from ....table.public import check_dim, check_tensor, public
from ....table.registry import OPS, F
from ....tensors.dtype_names import scalar_name
from ....tensors.dtypes import to_numpy_dtype
from ....tensors.narrow import kind_of
from ....tensors.numbers_ import real_number
from ....warning import warn


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

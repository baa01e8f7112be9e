"""Reductions and normalizations of tensors with a mask: what it leaves out becomes a value that changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.dtypes import bool_, iinfo, int64
from ..methods import FUNCTIONS
from ..table.public import NAMESPACES
from ..tensors.convert import checked_dim

# Values that replace masked-out elements, and the accepted forms of masks and dimensions.


def filled(function: str, input: Any, mask: Any, order: Any = 2.0) -> Any:  # noqa: A002
    """``input`` with the identity of a function where ``mask`` is false; ``input`` itself without a mask."""
    if mask is None:
        return input
    where = whole_mask(input, mask)
    value = _IDENTITIES[function](function, input.dtype, order)
    return FUNCTIONS["where"](where, input, FUNCTIONS["tensor"](value, dtype=input.dtype))


def whole_mask(input: Any, mask: Any) -> Any:  # noqa: A002
    """The mask as truth values in the shape of ``input``; ``IndexError`` if it has more dimensions than that."""
    if tuple(mask.shape) != tuple(input.shape):
        if mask.ndim > input.ndim:
            raise IndexError(
                f"_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): the mask "
                f"has {mask.ndim} dimensions, the input {input.ndim}"
            )
        mask = FUNCTIONS["broadcast_to"](mask.clone(), tuple(input.shape))  # later writes are not seen
    return mask.to(dtype=bool_)


def reduced_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, in order and counted from the front; ``None`` and ``()`` are all of them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found: list[int] = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(checked_dim(d, ndim))
    return tuple(sorted(found))


def has_fractions(dtype: Any) -> bool:
    """Whether a dtype is a floating or complex one."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def _refuse(function: str, dtype: Any) -> Any:
    raise NotImplementedError(f"identity of {function} on {dtype} input")


def _lowest(function: str, dtype: Any, order: Any) -> Any:
    if dtype.is_complex and function == "logsumexp":
        return complex(-math.inf, 0.0)
    return _end_of(function, dtype, -math.inf, "min")


def _highest(function: str, dtype: Any, order: Any) -> Any:
    return _end_of(function, dtype, math.inf, "max")


def _end_of(function: str, dtype: Any, infinity: float, end: str) -> Any:
    if dtype.is_floating_point:
        return infinity
    return _refuse(function, dtype) if dtype is bool_ else getattr(iinfo(dtype), end)


def _of_norm(function: str, dtype: Any, order: Any) -> Any:
    return math.inf if order == -math.inf else 0


_IDENTITIES: dict[str, Callable[[str, Any, Any], Any]] = {
    **dict.fromkeys(("sum", "cumsum", "normalize"), lambda function, dtype, order: 0),
    **dict.fromkeys(("prod", "cumprod"), lambda function, dtype, order: 1),
    **dict.fromkeys(("amax", "argmax", "logaddexp", "logsumexp", "softmax", "log_softmax"), _lowest),
    **dict.fromkeys(("amin", "argmin", "softmin"), _highest),
    "median": lambda function, dtype, order: math.nan,
    "norm": _of_norm,
}


# Reductions of the elements that a mask selects.

SHORT = frozenset(("uint8", "bool", "int8", "int16", "int32"))
"""Dtypes in which sums and products would overflow soon: both are computed in int64."""


def _wide(dtype: Any, input: Any) -> Any:  # noqa: A002
    if dtype is not None:
        return dtype
    return int64 if input.dtype.name in SHORT else input.dtype


def sum(  # noqa: A001
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The sum; 0 where everything is masked out."""
    dims = reduced_dims(dim, input.ndim)
    return filled("sum", input, mask).sum(dims, bool(keepdim), dtype=_wide(dtype, input))


def prod(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The product; 1 where everything is masked out."""
    result = filled("prod", input, mask).to(dtype=_wide(dtype, input))
    for d in reversed(reduced_dims(dim, input.ndim)):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def _extreme(name: str, doc: str, *, position: bool) -> Any:
    def call(
        input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None  # noqa: A002
    ) -> Any:  # fmt: skip
        values = filled(name, input, mask)
        dims = dim if position else reduced_dims(dim, input.ndim)
        return getattr(values, name)(dims, bool(keepdim)).to(dtype=input.dtype if dtype is None else dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


amax = _extreme("amax", "The largest elements; the smallest value of the dtype where there are none.", position=False)
amin = _extreme("amin", "The smallest elements; the largest value of the dtype where there are none.", position=False)
argmax = _extreme("argmax", "Where the largest elements are, in the dtype of the input.", position=True)
argmin = _extreme("argmin", "Where the smallest elements are, in the dtype of the input.", position=True)


def mean(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The mean of what is let through; floating and complex dtypes only."""
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if not has_fractions(dtype):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / counted(input, dim, keepdim, mask)


def counted(input: Any, dim: Any, keepdim: bool | None, mask: Any) -> Any:  # noqa: A002
    """How many elements are let through."""
    return sum(FUNCTIONS["ones"](tuple(input.shape), dtype=int64), dim, keepdim=keepdim, mask=mask)


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The lower median along ``dim`` of selected elements that are not NaN; NaN if there is none."""
    along = reduced_dims(dim, input.ndim)[0]
    floating = input if input.dtype.is_floating_point else input.to(dtype=FUNCTIONS["ones"](()).dtype)
    found = filled("median", floating, mask).nanmedian(along, keepdim).values
    if input.dtype.is_floating_point:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype=input.dtype if dtype is None else dtype)


def logsumexp(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The logarithm of the sum of exponentials; minus infinity where everything is masked out."""
    dims = reduced_dims(dim, input.ndim)
    result = filled("logsumexp", input, mask).logsumexp(dims, keepdim=keepdim)
    return result.to(dtype=input.dtype if dtype is None else dtype)


def norm(
    input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The ``ord``-norm of vectors; 0 where everything is masked out (infinity for the order minus infinity)."""
    dims = reduced_dims(dim, input.ndim)
    values = filled("norm", input, mask, ord)
    return NAMESPACES["linalg"]["vector_norm"](
        values, ord, dims, bool(keepdim), dtype=input.dtype if dtype is None else dtype
    )


# Functions of `torch.masked` whose result has the shape of the input: normalisations and running sums.


def _along(name: str, doc: str) -> Any:
    def call(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
        along = reduced_dims(dim, input.ndim)[0]
        dtype = input.dtype if dtype is None else dtype
        return FUNCTIONS[name](filled(name, input, mask), along, dtype=dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


softmax = _along("softmax", "Exponentials normalised to sum 1 along ``dim``; 0 where masked out.")
log_softmax = _along("log_softmax", "Logarithm of the softmax; minus infinity where masked out.")
cumsum = _along("cumsum", "Running sums along ``dim``; what is masked out counts as 0.")
cumprod = _along("cumprod", "Running products along ``dim``; what is masked out counts as 1.")


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
    """The softmax of the negated input; 0 where masked out."""
    along = reduced_dims(dim, input.ndim)[0]
    dtype = input.dtype if dtype is None else dtype
    return FUNCTIONS["softmax"](-filled("softmin", input, mask), along, dtype=dtype)


def normalize(
    input: Any, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """The input divided by its norm along ``dim``, or by ``eps`` where that is larger; 0 where masked out."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled("normalize", input, mask) / FUNCTIONS["maximum"](length, length.new_full((), eps))


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """``log(exp(input) + exp(other))``, in which masked-out elements count as minus infinity."""
    result = FUNCTIONS["logaddexp"](filled("logaddexp", input, input_mask), filled("logaddexp", other, other_mask))
    return result.to(dtype=input.dtype if dtype is None else dtype)


# Variance and standard deviation of the elements that a mask selects.

Number = int | float


def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Number | None = None,  # noqa: A002
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The variance with ``n - correction`` (1 by default) for divisor; NaN where everything is masked out."""
    divisor_less = _correction(unbiased, correction)
    dtype, floating = _dtypes(input, dtype)
    mean = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / counted(input, dim, True, mask)
    away = input - mean
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=floating, mask=mask)
    count = counted(input, dim, True, mask)
    count = count if keepdim else count.reshape(total.shape)
    if divisor_less:
        count = FUNCTIONS["clamp"](count.to(dtype=floating.to_real()) - divisor_less, min=0)
    return (total / count).to(dtype=dtype)


def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Number | None = None,  # noqa: A002
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The square root of the variance."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def _correction(unbiased: bool | None, correction: Number | None) -> float:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is not None:
        return float(correction)
    return 1.0 if unbiased is None or unbiased else 0.0


def _dtypes(input: Any, dtype: Any) -> tuple[Any, Any]:  # noqa: A002
    """The dtype of the result, and the floating one in which it is computed."""
    single = FUNCTIONS["ones"](()).dtype
    if dtype is None:
        dtype = input.dtype if has_fractions(input.dtype) else single
    return dtype, dtype if has_fractions(dtype) else single

"""Reductions of the elements that a mask selects.

Each takes ``input``, the dimensions to reduce (all of them by default), ``keepdim``, the ``dtype`` of the result and a
``mask`` that broadcasts to the shape of ``input``.  Where everything is masked out the result is the identity of the
function, or NaN if it has none.
"""

from __future__ import annotations

from typing import Any

from ..core.dtypes import int64
from ..methods import FUNCTIONS
from ..table.public import NAMESPACES
from .filling import filled, has_fractions, reduced_dims

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

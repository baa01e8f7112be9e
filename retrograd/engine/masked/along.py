"""Functions of ``torch.masked`` whose result has the shape of the input: normalisations and running sums."""

from __future__ import annotations

from typing import Any

from ..methods import FUNCTIONS
from .filling import filled, reduced_dims
from .reductions import norm


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

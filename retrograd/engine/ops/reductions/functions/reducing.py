"""Reductions with torch's overloads."""

from __future__ import annotations

from typing import Any

from ....calls.fast_path import MISSING
from ....return_types import named
from ....table.public import as_tensor_operand, check_dim, check_tensor, public
from ....table.registry import F
from ....tensors.base import TensorBase


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

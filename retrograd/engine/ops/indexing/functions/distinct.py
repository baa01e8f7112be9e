"""Distinct values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.base import TensorBase, wrap
from ....tensors.convert import checked_dim
from ...reductions.reduce import refuse_complex


def _chosen(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    extras = ([inverse] if return_inverse else []) + ([counts] if return_counts else [])
    return (values, *extras) if extras else values


def _check_slices(input: Any, dim: Any) -> None:  # noqa: A002
    """``RuntimeError`` where ``dim`` counts slices of no elements."""
    if dim is not None and 0 in (n for d, n in enumerate(input.shape) if d != checked_dim(dim, input.ndim)):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@public("unique")
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Distinct elements (or slices of ``dim``), sorted."""
    check_tensor("unique", input)
    _check_slices(input, dim)
    row = F._unique if dim is None else F._unique_dim
    return _chosen(row(input, dim), return_inverse, return_counts)


@public("unique_consecutive")
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Elements (or slices of ``dim``) without repetitions of their predecessors."""
    check_tensor("unique_consecutive", input)
    _check_slices(input, dim)
    return _chosen(F._unique_consecutive(input, dim), return_inverse, return_counts)


@public(
    "isin",
    method=False,
    out=True,
    aten="isin.Tensor_Tensor",
    also={"element": "elements", "test_element": "test_elements"},
)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements are among ``test_elements``."""
    for v in (elements, test_elements):
        if isinstance(v, TensorBase):
            refuse_complex("isin", v._array)
            if v._sig.kind == "b":
                raise RuntimeError("Unsupported input type encountered for isin(): Bool")
        elif isinstance(v, bool):
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
        elif isinstance(v, complex):
            raise RuntimeError("Unsupported input type encountered for isin(): ComplexDouble")
    pair = [v._array if isinstance(v, TensorBase) else v for v in (elements, test_elements)]
    return wrap(np.isin(pair[0], pair[1], invert=invert))

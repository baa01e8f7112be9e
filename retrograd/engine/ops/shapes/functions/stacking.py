"""Tensors joined along rows, columns and blocks, given the dimensions they lack."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.base import wrap
from ....tensors.dtypes import get_default_dtype
from .tensor_arguments import tensors_of


def _at_least(name: str, ndim: int) -> Any:
    def call(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            return tuple(_raised(t, ndim) for t in tensors[0])
        raised = tuple(_raised(t, ndim) for t in tensors)
        return raised[0] if len(tensors) == 1 else raised

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Tensors with at least {ndim} dimension(s)."
    return public(name, method=False)(call)


def _raised(t: Any, ndim: int) -> Any:
    check_tensor(f"atleast_{ndim}d", t)
    if t.ndim >= ndim:
        return t
    if t.ndim == 0:
        return t.reshape((1,) * ndim)
    if ndim == 2:
        return F.unsqueeze(t, 0)
    return F.unsqueeze(F.unsqueeze(t, 0) if t.ndim == 1 else t, -1)


for _n in (1, 2, 3):
    _at_least(f"atleast_{_n}d", _n)


def _some(name: str, tensors: Any) -> list[Any]:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return list(tensors)


@public("hstack", method=False, out=True)
def hstack(tensors: Any) -> Any:
    """Join along the second dimension (vectors along the first)."""
    raised = [_raised(t, 1) for t in _some("hstack", tensors)]
    return F.cat(raised, 0 if raised[0].ndim == 1 else 1)


@public("vstack", method=False, out=True)
def vstack(tensors: Any) -> Any:
    """Join rows."""
    return F.cat([_raised(t, 2) for t in _some("vstack", tensors)], 0)


public("row_stack", method=False, out=True)(vstack)


@public("dstack", method=False, out=True)
def dstack(tensors: Any) -> Any:
    """Join along the third dimension."""
    return F.cat([_raised(t, 3) for t in _some("dstack", tensors)], 2)


@public("column_stack", method=False, out=True)
def column_stack(tensors: Any) -> Any:
    """Join columns; vectors count as columns."""
    columns = [t.reshape(t.numel(), 1) if t.ndim <= 1 else t for t in _some("column_stack", tensors)]
    return F.cat(columns, 1)


@public("block_diag", method=False)
def block_diag(*tensors: Any) -> Any:
    """A matrix with the given ones along its diagonal."""
    if not tensors:
        return wrap(np.zeros((1, 0), get_default_dtype().numpy))
    return F._block_diag(tensors_of(tensors))

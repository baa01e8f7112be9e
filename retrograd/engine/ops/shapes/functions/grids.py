"""Combinations of the elements of vectors: grids, products and choices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ....core.argument_checks import type_name_of
from ....core.base import TensorBase, wrap
from ....core.registry import F
from ....deprecations import discourage
from ....table.public import public
from .reshaping import tensors_of


@public("meshgrid", method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Grids of coordinates; ``indexing`` is ``"ij"`` (the default) or ``"xy"``."""
    listed = _listed(tensors)
    if not listed:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for i, t in enumerate(listed):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name_of(t)}")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if len({t._sig.numpy for t in listed}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swapped = indexing == "xy" and len(listed) >= 2
    if swapped:
        listed[:2] = listed[1::-1]
    if indexing is None:
        discourage("meshgrid")
    for t in listed:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    shape = tuple(t.numel() for t in listed)
    grids = [F.expand(F._view(t, (1,) * i + (-1,) + (1,) * (len(listed) - i - 1)), shape) for i, t in enumerate(listed)]
    if swapped:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        return list(tensors[0])
    return list(tensors)


@public("cartesian_prod", method=False)
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of elements of the given vectors, as rows."""
    listed = tensors_of(tensors)
    for t in listed:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(listed) == 1:
        return listed[0]
    return F.stack([g.reshape(-1) for g in meshgrid(*listed, indexing="ij")], 1)


@public("combinations", method=False)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:  # noqa: A002
    """All ways to choose ``r`` elements of a vector, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return wrap(np.zeros(0, input._sig.numpy))
    n = input.numel()
    places = np.indices((n,) * r, sparse=True)
    chosen = np.ones((n,) * r, bool)
    for first, second in itertools.pairwise(places):
        chosen &= first <= second if with_replacement else first < second
    mask = wrap(chosen)
    return F.stack([F.masked_select(grid, mask) for grid in meshgrid(*[input] * r, indexing="ij")], 1)

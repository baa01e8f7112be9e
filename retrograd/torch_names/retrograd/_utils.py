"""``torch._utils``: gradients as one long tensor and apart again, which programs for several processes use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .engine.methods import FUNCTIONS


def _flatten_dense_tensors(tensors: Iterable[Any]) -> Any:
    """The elements of all tensors one after the other."""
    return FUNCTIONS["cat"]([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Iterable[Any]) -> tuple[Any, ...]:
    """Windows on ``flat`` of the sizes of ``tensors``."""
    like = list(tensors)
    windows = flat.split([t.numel() for t in like])
    return tuple([window.view(t.shape) for window, t in zip(windows, like, strict=True)])


def _take_tensors(tensors: Iterable[Any], size_limit: int) -> Iterator[list[Any]]:
    """Tensors of one type in groups of at most ``size_limit`` bytes, as far as one tensor alone is not larger."""
    groups: dict[str, list[Any]] = {}
    for t in tensors:
        group = groups.setdefault(t.type(), [])
        if group and sum(map(_bytes, group)) + _bytes(t) > size_limit:
            yield group
            group = groups[t.type()] = []
        group.append(t)
    yield from (group for group in groups.values() if group)


def _bytes(t: Any) -> int:
    return int(t.numel() * t.element_size())

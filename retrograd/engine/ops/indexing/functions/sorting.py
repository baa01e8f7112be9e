"""Sorting, the largest and the k-th elements."""

from __future__ import annotations

from typing import Any

from ....return_types import named
from ....table.public import check_tensor, public
from ....table.registry import F


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, bool, Any]:
    """``dim``, ``descending`` and ``stable`` (``None`` where it was not mentioned)."""
    given: dict[str, Any] = {"dim": -1, "descending": False, "stable": None}
    given.update(zip(("dim", "descending", "stable"), args, strict=False))
    given.update({("dim" if k == "axis" else k): v for k, v in kwargs.items()})
    if len(given) > 3:
        raise TypeError(f"sort() got an unexpected keyword argument '{list(given)[3]}'")
    return given["dim"], bool(given["descending"]), given["stable"]


@public("sort", out=True)
def sort(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    """Elements in order along a dimension, and where they were."""
    check_tensor("sort", input)
    dim, descending, stable = _arguments(args, kwargs)
    row = F._sort if stable is None else F._sort_stable
    return named("sort", *row(input, dim, descending))


@public("argsort", out=True)
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:  # noqa: A002
    """Indices that sort the elements."""
    check_tensor("argsort", input)
    return F._argsort(input, dim, descending)


@public("msort", out=True)
def msort(input: Any) -> Any:  # noqa: A002
    """Elements in order along the first dimension."""
    return F._sort(input, 0, False)[0]


@public("topk", out=True)
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002
    """The ``k`` largest (or smallest) elements along ``dim``, and where they are."""
    check_tensor("topk", input)
    return named("topk", *F._topk(input, int(k), dim, largest, sorted))


@public("kthvalue", out=True)
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: A002
    """The ``k``-th smallest elements along ``dim``, and where they are."""
    check_tensor("kthvalue", input)
    return named("kthvalue", *F._kthvalue(input, int(k), dim, keepdim))

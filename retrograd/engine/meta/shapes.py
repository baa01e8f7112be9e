"""Shapes that are known without computing on zeros: of products and sums, which would take the time of large models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..tensors.base import TensorBase

Shape = tuple[int, ...]
Rule = Callable[..., Shape | None]


def shape_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Shape | None:
    """The shape of what the row of this name makes of operands of one dtype, which it has then, too.

    ``None`` where that is not known here: also where the operator may refuse its operands.
    """
    rule = _RULES.get(name)
    tensors = [a for a in args if isinstance(a, TensorBase)]
    if rule is None or kwargs or any(t._sig.numpy is not tensors[0]._sig.numpy for t in tensors):
        return None
    if tensors[0]._sig.kind not in "fc":
        return None
    return rule(*[tuple(a.shape) if isinstance(a, TensorBase) else a for a in args])


def _mm(a: Shape, b: Shape) -> Shape | None:
    return (a[0], b[1]) if len(a) == len(b) == 2 and a[1] == b[0] else None


def _addmm(bias: Shape, a: Shape, b: Shape, *factors: Any) -> Shape | None:
    shape = _mm(a, b)
    fits = shape is not None and all(n in (1, m) for n, m in zip(bias[::-1], shape[::-1], strict=False))
    return shape if fits and len(bias) <= 2 else None


def _bmm(a: Shape, b: Shape) -> Shape | None:
    fits = len(a) == len(b) == 3 and a[0] == b[0] and a[2] == b[1]
    return (a[0], a[1], b[2]) if fits else None


def _mv(a: Shape, b: Shape) -> Shape | None:
    return a[:1] if len(a) == 2 and a[1:] == b else None


def _along(a: Shape, dim: Any, keepdim: bool = False, dtype: Any = None) -> Shape | None:
    dims = [dim] if isinstance(dim, int) else dim
    if dtype is not None or not dims or not all(-len(a) <= d < len(a) for d in dims):
        return None
    axes = {d % len(a) for d in dims}
    kept = [1 if i in axes else n for i, n in enumerate(a) if keepdim or i not in axes]
    return tuple(kept) if len(axes) == len(dims) else None


_RULES: dict[str, Rule] = {
    "mm": _mm, "addmm": _addmm, "bmm": _bmm, "mv": _mv, "_sum_dim": _along, "_mean_dim": _along,
    "sum": lambda a, dtype=None: () if dtype is None and math.prod(a) else None,
}  # fmt: skip

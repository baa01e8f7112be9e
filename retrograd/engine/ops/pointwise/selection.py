"""Bounds on elements, and elements chosen by a condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.masking import kept
from ...rules.by_number import over
from ...table.registry import F
from ...table.rows import elementwise, linear
from ...tensors.base import TensorBase, wrap
from ...tensors.numbers_ import held
from .arithmetic import element

linear("_kept", kept, node="MaskedFillBackward0", tensors="values mask",
       values=lambda g, mask, when: F._kept(g, mask, when),
       jvp=lambda primal, tangents, results: F._kept(tangents[0], *primal[1:]))  # fmt: skip


def passed(g: Any, condition: Any, when: bool = True) -> Any:
    """A gradient where a condition is as it says, 0 elsewhere; in PyTorch's formulas a choice between two tensors."""
    if not isinstance(g, TensorBase):
        return F._kept(g, condition, when)
    nothing = wrap(np.zeros((), g._sig.numpy))
    return F._where(condition, g, nothing) if when else F._where(condition, nothing, g)


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """Limit each element to ``[min, max]``."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = self.dtype
    bound = held if dtype.kind == "f" else element
    out = self if min is None else np.maximum(self, bound(min, dtype))
    return out if max is None else np.minimum(out, bound(max, dtype))


def within(self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    """Where an element lies between the bounds, of which one may be None."""
    inside = None if min is None else self >= min
    if max is not None:
        inside = self <= max if inside is None else inside & (self <= max)
    return inside


elementwise("_clamp_scalar", _clamp, node="ClampBackward1", tensors="self", inplace=True,
            self=lambda g, self, min, max: passed(g, within(self, min, max)))  # fmt: skip


def _tie(g: Any, loses: Any, ties: Any) -> Any:
    """The gradient of the larger (or smaller) operand; at a tie each gets half, beside NaN both get all."""
    return F._kept(F._where(ties, over(g, 2), g), loses, False)


elementwise(
    "maximum", np.maximum, numbers=False,
    self=lambda g, self, other: _tie(g, self < other, self == other),
    other=lambda g, self, other: _tie(g, other < self, self == other),
    kinds="fiub",
)  # fmt: skip
elementwise(
    "minimum", np.minimum, numbers=False,
    self=lambda g, self, other: _tie(g, self > other, self == other),
    other=lambda g, self, other: _tie(g, other > self, self == other),
    kinds="fiub",
)  # fmt: skip


def _where(condition: Any, self: Any, other: Any) -> Any:
    return np.where(getattr(condition, "_array", condition), self, other)


elementwise(
    "_where", _where, node="WhereBackward0", tensors="self other", arrays="condition",
    self=lambda g, condition: passed(g, condition),
    other=lambda g, condition: passed(g, condition, False),
)  # fmt: skip


def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """``self`` with ``value`` where ``mask``."""
    shape = np.broadcast_shapes(self.shape, mask.shape)
    out = np.array(np.broadcast_to(self, shape))
    out[np.broadcast_to(mask, shape)] = value
    return out


linear("masked_fill", _masked_fill, tensors="self mask", self=lambda g, mask: F._kept(g, mask, False),
       jvp=lambda primal, tangents, results: F._kept(tangents[0], primal[1], False), layout="rows")  # fmt: skip
linear(
    "_masked_fill_tensor", _masked_fill, node="MaskedFillBackward1", tensors="self mask value",
    self=lambda g, mask: F._kept(g, mask, False),
    value=lambda g, mask: F.sum(F._kept(g, mask)), layout="rows",
)  # fmt: skip


# -- the larger and the smaller, NaN ignored; bounds that are tensors


elementwise(
    "fmax", np.fmax, numbers=False,
    self=lambda g, self, other: F._kept(g, (self >= other) | F.isnan(other)),
    other=lambda g, self, other: F._kept(g, (self >= other) | F.isnan(other), False),
    kinds="fiub",
)  # fmt: skip
elementwise(
    "fmin", np.fmin, numbers=False,
    self=lambda g, self, other: F._kept(g, (self <= other) | F.isnan(other)),
    other=lambda g, self, other: F._kept(g, (self <= other) | F.isnan(other), False),
    kinds="fiub",
)  # fmt: skip


def _inside(g: Any, keep: Any) -> Any:
    return F._where(keep, g, F.zeros_like(g))


elementwise("_clamp_min", lambda self, min: np.maximum(self, min), node="ClampMinBackward0", tensors="self min",
            scalars="min",
            promote="common", self=lambda g, self, min: _inside(g, self >= min), kinds="fiub")  # fmt: skip
elementwise("_clamp_max", lambda self, max: np.minimum(self, max), node="ClampMaxBackward0", tensors="self max",
            scalars="max", promote="common", self=lambda g, self, max: _inside(g, self <= max))  # fmt: skip
elementwise(
    "_clamp_min_tensor", lambda self, min: np.maximum(self, min), node="ClampMinBackward1", tensors="self min",
    self=lambda g, self, min: _inside(g, self >= min), min=lambda g, self, min: _inside(g, self < min),
    kinds="fiub",
)  # fmt: skip
elementwise(
    "_clamp_max_tensor", lambda self, max: np.minimum(self, max), node="ClampMaxBackward1", tensors="self max",
    self=lambda g, self, max: _inside(g, self <= max), max=lambda g, self, max: _inside(g, self > max),
    kinds="fiub",
)  # fmt: skip


def _clamp_tensors(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    out = self if min is None else np.maximum(self, min)
    return np.array(out) if max is None else np.minimum(out, max)


def _clamp_low(g: Any, self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    return _inside(g, self < min if max is None else (min < max) & (self < min))


def _clamp_high(g: Any, self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    return _inside(g, self > max if min is None else (self > max) | (max < min))


elementwise(
    "_clamp_tensors", _clamp_tensors, node="ClampBackward0", tensors="self min max",
    self=lambda g, self, min, max: _inside(g, within(self, min, max)), min=_clamp_low, max=_clamp_high,
)  # fmt: skip

"""Padding of the last dimensions: with a constant, reflected, or with the edge repeated.

``pad`` counts as in torch: before and after for the last dimension first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.argument_checks import checked_number
from ...core.registry import F
from ...kernels.separable import add_at, take_along
from ...table.rows import function, linear
from ..pointwise.arithmetic import zero_gradient


def _pairs(pad: tuple[int, ...], ndim: int) -> list[tuple[int, int, int]]:
    """``(axis, before, after)`` for each padded dimension."""
    return [(ndim - 1 - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]


def _constant_pad_nd(self: Any, pad: tuple[int, ...], value: Any = 0) -> Any:
    """A border of ``value`` around the last dimensions; negative numbers cut off."""
    read: list[Any] = [slice(None)] * self.ndim
    write: list[Any] = [slice(None)] * self.ndim
    shape = list(self.shape)
    for axis, before, after in _pairs(pad, self.ndim):
        n = shape[axis]
        shape[axis] = n + before + after
        if shape[axis] < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after}, resulted in a negative output size, "
                f"which is invalid. Check dimension {axis} of your input."
            )
        read[axis] = slice(max(-before, 0), n - max(-after, 0))
        write[axis] = slice(max(before, 0), shape[axis] - max(after, 0))
    out = np.full(shape, checked_number(value, self.dtype), self.dtype)
    out[tuple(write)] = self[tuple(read)]
    return out


linear(
    "constant_pad_nd", _constant_pad_nd, public=False, as_given=True,
    self=lambda g, pad: F.constant_pad_nd(g, tuple([-p for p in pad]), 0),
    jvp=lambda primal, tangents, results: F.constant_pad_nd(tangents[0], primal[1], 0), layout="format",
)  # fmt: skip


def _source(mode: str, n: int, before: int, after: int) -> Any:
    """Which element of a dimension each element of the padded one repeats."""
    at = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(at, 0, n - 1)
    at = np.abs(at)
    return np.where(at >= n, 2 * (n - 1) - at, at)


def _repeat_pad(mode: str) -> Any:
    def forward(self: Any, padding: tuple[int, ...]) -> Any:
        for axis, before, after in _pairs(padding, self.ndim):
            self = take_along(self, _source(mode, self.shape[axis], before, after), axis)
        return self

    return forward


def _repeat_back(mode: str) -> Any:
    def forward(grad: Any, self: Any, padding: tuple[int, ...]) -> Any:
        for axis, before, after in _pairs(padding, grad.ndim):
            grad = add_at(grad, _source(mode, self.shape[axis], before, after), axis, self.shape[axis])
        return grad

    return forward


def _by_input(back: str) -> Any:
    """The rule of a padding that keeps its input, as torch's do: a write to it before backward is an error, its second
    gradient is zeros."""
    return lambda g, padding, self: getattr(F, back)(g, self, padding)


def _rows(mode: str, name: str, node: str) -> None:
    """A padding and its transpose; the node names count dimensions as torch's do."""
    back = f"_{name}_backward"
    linear(f"_{name}", _repeat_pad(mode), node=node, self=_by_input(back), layout="format", kinds="fciu")
    function(
        back, _repeat_back(mode), node=node.replace("Backward0", "BackwardBackward0"), tensors="grad self",
        grad=lambda g, padding: getattr(F, f"_{name}")(g, padding), self=zero_gradient,
    )  # fmt: skip


for _dims in (1, 2, 3):
    _rows("reflect", f"reflection_pad{_dims}d", f"ReflectionPad{_dims}DBackward0")
    _rows("replicate", f"replication_pad{_dims}d", f"ReplicationPad{_dims}DBackward0")

"""``pad`` in all its modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.argument_checks import real_argument
from ....core.base import wrap
from ....core.registry import F
from ....table.public import NN, check_tensor, public

_ROWS = {"reflect": "_reflection_pad{}d", "replicate": "_replication_pad{}d"}


@public("pad", namespace=NN)
def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
    """Pad the last dimensions; ``pad`` gives before and after for the last dimension first."""
    check_tensor("pad", input)
    amounts = tuple(int(p) for p in pad)
    real_argument("pad", "value", 4, value)
    refuse(len(amounts) % 2 != 0, f"Padding length must be divisible by 2, but got {len(amounts)}")
    refuse(
        len(amounts) > 2 * input.ndim,
        "Padding length should be less than or equal to two times the input dimension but got padding length "
        f"{len(amounts)} and input of dimension {input.ndim}",
    )
    if mode == "constant":
        return constant_pad_nd(input, amounts, 0 if value is None else float(value))  # a double, whatever was given
    if mode not in (*_ROWS, "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    refuse(value not in (None, 0), f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(amounts) // 2
    if dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(amounts)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    _check_repeated(input, amounts, mode)
    if mode == "circular":
        return _circular(input, amounts)
    return getattr(F, _ROWS[mode].format(dims))(input, amounts)


def _circular(x: Any, amounts: tuple[int, ...]) -> Any:
    """Written into new memory, as PyTorch does: the middle, then dimension by dimension what lies around it.

    What a negative amount cuts off does not come in again on the other side.
    """
    sides = [(x.ndim - 1 - i, amounts[2 * i], amounts[2 * i + 1]) for i in range(len(amounts) // 2)]
    shape = list(x._array.shape)
    for dim, before, after in sides:
        shape[dim] += before + after
        refuse(shape[dim] < 0, "Negative padding value is resulting in an empty dimension")
    out = x.new_empty(shape) if x.is_meta else wrap(np.empty(shape, x._sig.numpy))
    middle, taken = out, x
    for dim, before, after in sides:
        middle = F._slice(middle, dim, max(before, 0), shape[dim] - max(after, 0), 1)
        taken = F._slice(taken, dim, max(-before, 0), x.shape[dim] - max(-after, 0), 1)
    middle.copy_(taken)
    for dim, before, after in sides:
        start, end = max(before, 0), shape[dim] - max(after, 0)
        if before > 0:
            F._slice(out, dim, 0, before, 1).copy_(F._slice(out, dim, end - before, end, 1))
        if after > 0:
            F._slice(out, dim, end, shape[dim], 1).copy_(F._slice(out, dim, start, start + after, 1))
    return out


def _check_repeated(x: Any, amounts: tuple[int, ...], mode: str) -> None:
    """``RuntimeError`` for padding that reflects or wraps around further than the dimension is long."""
    for i in range(len(amounts) // 2):
        n = x.shape[-1 - i]
        for amount in amounts[2 * i : 2 * i + 2]:
            refuse(
                mode == "reflect" and amount >= n,
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"{amounts[2 * i : 2 * i + 2]} at dimension {x.ndim - 1 - i} of input {list(x.shape)}",
            )
            refuse(
                mode == "circular" and amount > n,
                "Padding value causes wrapping around more than once.",
            )


@public("constant_pad_nd", method=False)
def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Any:  # noqa: A002
    """A border of ``value`` around the last dimensions; negative numbers cut off."""
    refuse(len(pad) % 2 == 1, f"Length of pad must be even but instead it equals {len(pad)}")
    refuse(
        len(pad) > 2 * input.ndim,
        f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} "
        f"while the input has {input.ndim} dimensions.",
    )
    return F.constant_pad_nd(input, tuple(int(p) for p in pad), value)

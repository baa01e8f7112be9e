"""Checks of pools, folding and unfolding: window sizes must be positive and images must not be empty."""

from __future__ import annotations

from typing import Any

from ....calls.refusals import refuse
from ....kernels.sliding import Sizes
from ....table.public import check_tensor
from ....tensors.convert import checked_dim


def check_positive(**sizes: Sizes) -> None:
    """``RuntimeError`` for a size of windows, by its name (``kernel_size``), that is not greater than zero."""
    for name, values in sizes.items():
        refuse(
            any(n <= 0 for n in values),
            f"{name.replace('_', ' ')} should be greater than zero, but got {', '.join(map(str, values))}",
        )


def check_positive_in(name: str, **sizes: Any) -> None:
    """``RuntimeError`` for a size that is not greater than zero, of a function that says its own name."""
    for size, given in sizes.items():
        value = given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given
        refuse(isinstance(value, int) and value <= 0, f"{name}() {size} must be greater than zero, but got {value}")


def check_padding(padding: Sizes) -> None:
    """``RuntimeError`` for a negative padding."""
    refuse(any(n < 0 for n in padding), f"padding should be non-negative, but got {', '.join(map(str, padding))}")


def check_filled(name: str, x: Any, dims: int, *, adaptive: bool = False) -> None:
    """``RuntimeError`` if a dimension other than the batch of ``(N, C, *spatial)`` or ``(C, *spatial)`` is empty.

    The message is that of PyTorch's pools with given windows, or of those with a given output (``adaptive``).
    """
    first = 0 if x.ndim == dims + 1 and not adaptive else 1  # (those with a given output never look at the first)
    empty = next((d for d, n in enumerate(x.shape) if not n and d >= first), None)
    if empty is None:
        return
    shape = list(x.shape)
    if adaptive:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} "
            f"with dimension {empty} being empty"
        )
    if dims == 3:
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{shape} and non-batch dimension {empty - (x.ndim - dims - 1)} has length zero!"
        )
    raise RuntimeError(
        f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
        f"but got:{shape}"
    )


def check_input(x: Any, dims: int, name: str) -> None:
    """An error unless the input is ``(N, C, *spatial)`` or ``(C, *spatial)``, ``dims`` of them spatial."""
    check_tensor(name, x)
    if x.ndim in (dims + 1, dims + 2):
        return
    if name == "avg_pool2d" and x.ndim < dims + 1:
        checked_dim(-3, x.ndim)  # which dimension it looks at first
    either, shape = f"{dims + 1}D or {dims + 2}D", list(x.shape)
    if name == "max_pool1d" or name == "avg_pool2d":
        words = (
            f"{name}: Expected {either} (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
        )
    elif dims == 1:
        words = (
            f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 'self' (while checking "
            f"arguments for {name})"
        )
    elif name.startswith("adaptive"):
        words = f"{name}(): Expected {either} tensor, but got: {shape}"
    else:
        words = f"{name}: non-empty {either} (batch mode) tensor expected for input, but got {shape}"
    raise RuntimeError(words)

"""Summaries of the values of PyTorch tensors, as cheap as they can be had.

Nothing here leaves a trace: it runs on detached tensors, unseen by modes of the program, and never where the
program itself looks at every kernel (a ``TorchDispatchMode``) or the values are not there (``vmap``, fake tensors).
"""

from __future__ import annotations

import math
import sys
from typing import Any

from ..event_data import Values

_LISTED_ROWS = 10


class Readable:
    """Tells whether values can be read without the program noticing."""

    def __init__(self) -> None:
        torch: Any = sys.modules["torch"]
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._strided = torch.strided
        self._transforms = torch._C._functorch.peek_interpreter_stack
        self._dispatch_modes = torch._C._len_torch_dispatch_stack

    def now(self) -> bool:
        """Whether anything may be read at all at this moment."""
        return self._transforms() is None and not self._dispatch_modes()

    def floating(self, tensor: Any) -> bool:
        """Whether a tensor holds floating numbers that can be read."""
        return (
            type(tensor) in self._plain
            and tensor.is_floating_point()
            and tensor.layout is self._strided
            and not tensor.is_meta
        )


def range_and_sum(tensor: Any) -> tuple[list[float] | None, float | None]:
    """Return ``[min, max]`` (NaN if any entry is) and the sum of a detached tensor; None for what cannot be had."""
    if not tensor.numel():
        return None, 0.0
    torch: Any = sys.modules["torch"]
    low, high = torch.aminmax(tensor)
    total = tensor.sum(dtype=torch.float32) if tensor.element_size() < 4 else tensor.sum()
    return [low.item(), high.item()], total.item()


def is_bad(extent: list[float] | None) -> bool:
    """Whether a range says that there is a NaN or an infinity."""
    return extent is not None and not (math.isfinite(extent[0]) and math.isfinite(extent[1]))


def summary(tensor: Any) -> Values:
    """Count what a detached tensor holds, with the places of what is not finite."""
    torch: Any = sys.modules["torch"]
    nan, inf = torch.isnan(tensor), torch.isinf(tensor)
    bad = nan | inf
    found = Values(
        size=tensor.numel(), nan=int(nan.sum()), inf=int(inf.sum()), zero=tensor.numel() - int(tensor.count_nonzero())
    )
    finite = tensor[~bad]
    if finite.numel():
        low, high = torch.aminmax(finite)
        found["min"], found["max"] = low.item(), high.item()
    if found["nan"] or found["inf"]:
        found["first_bad"] = first_true(nan if found["nan"] else inf)
        if tensor.dim():
            rows = bad.reshape(bad.shape[0], -1).any(1).nonzero().flatten()[:_LISTED_ROWS]
            found["bad_rows"] = rows.tolist()
    return found


def first_true(mask: Any) -> list[int]:
    """Return the index of the first true entry."""
    torch: Any = sys.modules["torch"]
    flat = int(mask.flatten().to(torch.uint8).argmax())
    return [int(part) for part in torch.unravel_index(torch.tensor(flat), mask.shape)] if mask.dim() else []

"""Reads the values of PyTorch tensors as arrays, where the program cannot notice it."""

from __future__ import annotations

import sys
from typing import Any

from .array_values import Array


class Readable:
    """Tells whether values can be read without the program noticing, and reads them.

    They cannot where the program itself looks at every kernel (a ``TorchDispatchMode``) or where there are none
    (``vmap``, fake and meta tensors); other devices than the CPU would have to be waited for.
    """

    def __init__(self) -> None:
        torch: Any = sys.modules["torch"]
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._strided = torch.strided
        self._wide = frozenset({torch.float32, torch.float64})
        self._narrow = (torch.bfloat16, torch.float16)
        self._transforms = torch._C._functorch.peek_interpreter_stack
        self._dispatch_modes = torch._C._len_torch_dispatch_stack

    def now(self) -> bool:
        """Whether anything may be read at all at this moment."""
        return self._transforms() is None and not self._dispatch_modes()

    def array(self, tensor: Any) -> Array | None:
        """Return the memory of a floating tensor as an array, narrow dtypes converted; None if it cannot be had."""
        if type(tensor) not in self._plain or not tensor.is_cpu or tensor.layout is not self._strided:
            return None
        wide = tensor.dtype in self._wide
        if not wide and not tensor.is_floating_point():
            return None
        if tensor.requires_grad:
            tensor = tensor.detach()
        try:
            found: Array = (tensor if wide or tensor.dtype not in self._narrow else tensor.float()).numpy()
        except Exception:  # negated lazily, of a dtype without values, …
            return None
        return found

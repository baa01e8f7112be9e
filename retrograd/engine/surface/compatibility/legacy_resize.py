"""``Resize``: the deprecated Function that changes a tensor's shape."""

from __future__ import annotations

import math
from typing import Any

from ...function.function import Function


class Resize(Function):
    """``Resize.apply(tensor, sizes)``: the same elements in another shape; ``RuntimeError`` if their number differs."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Any) -> Any:
        """Reshape, remembering the old shape."""
        count = math.prod(sizes)
        if count != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given tensor "
                f"has a size of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). autograd's resize can "
                "only change the shape of a given tensor, while preserving the number of elements."
            )
        ctx.input_sizes = tensor.shape
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Back to the old shape."""
        return grad.contiguous().view(*ctx.input_sizes), None

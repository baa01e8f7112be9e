"""``torch._tensor``: the tensor's class, where older programs look for it."""

from .engine.tensors.tensor import Tensor

__all__ = ["Tensor"]

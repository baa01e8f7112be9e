"""``torch.autograd.variable``: re-exports only."""

from ..engine.tensors.variable import Variable

__all__ = ["Variable"]

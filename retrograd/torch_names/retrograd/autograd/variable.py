"""``torch.autograd.variable``: re-exports only."""

from ..engine.tensors.parameter import Variable

__all__ = ["Variable"]

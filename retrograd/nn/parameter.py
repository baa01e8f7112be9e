"""``torch.nn.parameter``."""

from ..engine.tensors.parameter import Parameter

__all__ = ["Parameter"]

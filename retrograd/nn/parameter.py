"""``torch.nn.parameter``."""

from ..engine.tensors.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]

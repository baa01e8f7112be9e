"""``torch.nn.parameter``."""

from ..engine.tensors.parameter import Buffer, Parameter
from .uninitialized import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]

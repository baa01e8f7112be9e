"""The face of ``torch.autograd.graph``: re-exports only."""

from ..engine.edges import GradientEdge, get_gradient_edge
from ..engine.graph import (
    Node,
    _get_grad_fn_or_grad_acc,
    increment_version,
    saved_tensors_hooks,
)
from ..engine.hooks import RemovableHandle, _MultiHandle

__all__ = [
    "GradientEdge", "Node", "RemovableHandle", "_MultiHandle", "_get_grad_fn_or_grad_acc", "get_gradient_edge",
    "increment_version", "saved_tensors_hooks",
]  # fmt: skip

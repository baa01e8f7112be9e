"""The face of ``torch.autograd.grad_mode``: re-exports only."""

from ..engine.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]

"""Where PyTorch keeps its control flow that depends on tensors."""

from .engine.control_flow import cond, while_loop

__all__ = ["cond", "while_loop"]

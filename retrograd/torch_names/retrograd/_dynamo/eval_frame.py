"""``torch._dynamo.eval_frame``: where the wrapper of compiled modules is looked for."""

from ..nn.compiled import OptimizedModule

__all__ = ["OptimizedModule"]

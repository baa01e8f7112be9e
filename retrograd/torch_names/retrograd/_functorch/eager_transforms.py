"""``torch._functorch.eager_transforms``: re-exports only."""

from ..func import functionalize, hessian, jacfwd, jacrev, jvp, linearize, vjp

__all__ = ["functionalize", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]

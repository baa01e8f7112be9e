"""The face of ``torch.autograd.functional``: re-exports only."""

from ..engine.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

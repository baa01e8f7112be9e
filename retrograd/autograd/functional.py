"""The face of ``torch.autograd.functional``: re-exports only."""

from ..engine.functional import _construct_standard_basis_for as _construct_standard_basis_for
from ..engine.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

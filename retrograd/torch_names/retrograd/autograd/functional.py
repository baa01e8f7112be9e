"""``torch.autograd.functional``: re-exports only."""

from ..engine.functional.products import _construct_standard_basis_for as _construct_standard_basis_for
from ..engine.functional.products import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

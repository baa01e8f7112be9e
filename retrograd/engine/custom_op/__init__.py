"""Operators declared by the user: schemas, kernels, autograd formulas, ``opcheck``, and the old ``CustomOp``."""

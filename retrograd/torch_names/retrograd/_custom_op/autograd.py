"""The gradient half of the old operator interface."""

from ..engine.custom_op.legacy_autograd import (
    autograd_kernel_indirection,
    autograd_not_implemented,
    construct_autograd_kernel,
    mark_non_differentiable,
    namedtuple_args,
    save_pytree_for_backward,
    unpack_saved,
)
from ..engine.custom_op.legacy_rules import grad_inputs_dict_to_flat_tuple, validate_grad_inputs_dict

__all__ = [
    "autograd_kernel_indirection",
    "autograd_not_implemented",
    "construct_autograd_kernel",
    "grad_inputs_dict_to_flat_tuple",
    "mark_non_differentiable",
    "namedtuple_args",
    "save_pytree_for_backward",
    "unpack_saved",
    "validate_grad_inputs_dict",
]

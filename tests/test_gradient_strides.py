"""Strides of gradients that ``autograd.grad`` returns (SPEC row E-1): they lie as the operands of the rule do."""

from __future__ import annotations

from both_engines import differential

ELEMENT_WISE = """
    abs acos angle asin atan ceil cos digamma erf erfinv exp expm1 floor i0 lgamma log1p logit neg reciprocal relu round
    rsqrt selu sigmoid sign sin sinc sqrt tan tanh trunc
"""
SPECIAL = "entr erfcx gammaln i0e i1 i1e log_ndtr ndtri"
LAYERS = "celu elu hardsigmoid hardswish leaky_relu mish silu softplus softsign"


def _gradient_strides(torch, operation, *leaves):
    out = operation(*leaves)
    return [g.stride() for g in torch.autograd.grad(out, leaves, torch.ones_like(out))]


@differential
def test_E_1_gradients_of_elementwise_functions_lie_as_their_operand(torch):
    """E-1: of a matrix in columns, also where a kernel of our own computes the slope."""
    functional = torch.nn.functional
    functions = [getattr(torch, name) for name in ELEMENT_WISE.split()]
    functions += [getattr(torch.special, name) for name in SPECIAL.split()]
    functions += [getattr(functional, name) for name in LAYERS.split()]
    x = torch.full((3, 2), 0.4, dtype=torch.float64).t().requires_grad_()
    return [_gradient_strides(torch, function, x) for function in functions]


@differential
def test_E_1_gradients_of_functions_of_two_operands_lie_as_these(torch):
    """E-1: of two matrices in columns."""
    x = torch.full((3, 2), 0.4, dtype=torch.float64).t().requires_grad_()
    w = torch.full((3, 2), 0.7, dtype=torch.float64).t().requires_grad_()
    names = ["add", "sub", "mul", "div", "pow", "atan2", "maximum", "minimum", "hypot", "logaddexp"]
    return [_gradient_strides(torch, getattr(torch, name), x, w) for name in names]


@differential
def test_E_1_gradients_of_padded_windows_are_no_parts_of_larger_memory(torch):
    """E-1: pools and unfolding with padding return gradients in rows without gaps."""
    functional = torch.nn.functional
    image = torch.ones(1, 2, 6, 5, requires_grad=True)
    return [
        _gradient_strides(torch, lambda t: functional.avg_pool2d(t, 3, 2, 1), image),
        _gradient_strides(torch, lambda t: functional.avg_pool2d(t, 2, ceil_mode=True), image),
        _gradient_strides(torch, lambda t: functional.unfold(t, 3, padding=1), image),
        _gradient_strides(torch, lambda t: functional.avg_pool1d(t[0], 3, 2, 1), image),
    ]


@differential
def test_E_1_gradients_at_an_expanded_operand_lie_in_rows(torch):
    """E-1: where one element stands for many, what is filled like the operand is no matrix in columns."""
    functional, x = torch.nn.functional, torch.tensor([-1.0, 0.5, 2.0]).expand(2, 3).requires_grad_()
    given, found = torch.ones(()).expand(2, 3), []
    for function in (functional.elu, functional.celu, functional.selu, torch.sigmoid, torch.floor):
        found += [g.stride() for g in torch.autograd.grad(function(x), [x, x], given)]
    return found

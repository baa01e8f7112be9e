"""Forward over reverse: gradients computed from dual tensors carry tangents (E-35)."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_agree

FUNCTIONS = {
    "saved input": lambda t, x: x.sin(),
    "saved output": lambda t, x: x.exp() * x.tanh(),
    "both operands": lambda t, x: x * x,
    "reciprocal": lambda t, x: 1 / x,
    "in place": lambda t, x: x.clone().mul_(x).exp_(),
    "views": lambda t, x: x.view(2, 1).expand(2, 3) * x.view(2, 1) ** 2,
    "reduction": lambda t, x: x.sum() * x,
    "matrix": lambda t, x: (x @ t.ones(2, 2, dtype=t.float64)) @ x,
}


def tangent_of_gradient(torch: Any, func: Any) -> Any:
    """The product of the Hessian of ``func(x).sum()`` with a vector, by forward over reverse."""
    forward_ad = torch.autograd.forward_ad
    x = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.tensor([1.0, 2.0], dtype=torch.float64))
        (gradient,) = torch.autograd.grad(func(torch, dual).sum(), dual, create_graph=True)
        tangent = forward_ad.unpack_dual(gradient).tangent
        return None if tangent is None else tangent.detach()


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_gradients_carry_tangents_e35(kind: str) -> None:
    """E-35: saved inputs and saved outputs keep their tangents, also through in-place writes and views."""
    assert_agree(lambda t: tangent_of_gradient(t, FUNCTIONS[kind]))


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_tangents_survive_saved_tensor_hooks_e35(kind: str) -> None:
    """E-35: values that went through pack and unpack hooks get their tangents back."""

    def program(torch: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: v):
            return tangent_of_gradient(torch, FUNCTIONS[kind])

    assert_agree(program)


@pytest.mark.parametrize("custom", [False, True])
def test_tangents_end_with_their_level_e35(custom: bool) -> None:
    """E-35: what was saved in one level has no tangent in the next, for operators and for custom Functions."""

    def program(torch: Any) -> Any:
        class Exp(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                out = x.exp()
                ctx.save_for_backward(out)
                return out

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * ctx.saved_tensors[0]

            @staticmethod
            def jvp(ctx: Any, t: Any) -> Any:
                return t * 7

        forward_ad = torch.autograd.forward_ad
        x, found = torch.ones(2, requires_grad=True), []
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones(2))
            out = Exp.apply(dual) if custom else dual.exp()
            (g,) = torch.autograd.grad(out.sum(), dual, create_graph=True, retain_graph=True)
            found.append(forward_ad.unpack_dual(g).tangent.detach())
        with forward_ad.dual_level():
            (g,) = torch.autograd.grad(out.sum(), dual, create_graph=True)
            found.append(forward_ad.unpack_dual(g).tangent)
        return found

    assert_agree(program)

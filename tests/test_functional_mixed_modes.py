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


STORED = {
    "taken over": lambda t, x, d: d**3,
    "laid out anew": lambda t, x, d: (d * d).t() * t.arange(4.0).view(2, 2),
    "also a sum": lambda t, x, d: d**3 + x,
    "seen by a hook": lambda t, x, d: (x.register_hook(lambda g: None), d**3)[1],
    "kept by a hook": lambda t, x, d: (x.register_hook(t.kept.append), d**3)[1],
}


class _Keeping:
    """An engine and a list in which hooks keep what they see."""

    def __init__(self, torch: Any) -> None:
        self._torch, self.kept = torch, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)


def tangents_of_stored(torch: Any, func: Any) -> list[Any]:
    """The gradient that a leaf stores, and its tangent, after one and after two backward runs at one dual level."""
    forward_ad, keeping = torch.autograd.forward_ad, _Keeping(torch)
    x = torch.tensor([[2.0, 3.0], [1.0, 4.0]], requires_grad=True)
    found: list[Any] = []
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2, 2))
        for _run in range(2):
            func(keeping, x, dual).sum().backward()
            tangent = forward_ad.unpack_dual(x.grad).tangent
            found += [x.grad.detach().clone(), None if tangent is None else tangent.clone()]
    return found


@pytest.mark.parametrize("kind", STORED)
def test_stored_gradients_have_tangents_only_as_copies_and_sums_e35(kind: str) -> None:
    """E-35: a leaf takes a gradient over without its tangent, where nobody else holds it; copies and sums have one."""
    assert_agree(lambda t: tangents_of_stored(t, STORED[kind]))


def test_unpacked_primals_are_identities_e35() -> None:
    """E-35: the view that unpack_dual returns was made by Identity, the one of make_dual by ViewBackward0."""

    def names(torch: Any) -> list[Any]:
        forward_ad, x = torch.autograd.forward_ad, torch.ones(2, requires_grad=True)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.ones(2))
            primal = forward_ad.unpack_dual(dual * 2).primal
            return [dual.grad_fn.name(), primal.grad_fn.name(), repr(primal), primal._is_view()]

    assert_agree(names)

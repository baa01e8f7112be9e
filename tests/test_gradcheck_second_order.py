"""gradgradcheck: second derivatives (E-48)."""

from __future__ import annotations

from typing import Any

import gradcheck_functions as functions
import numpy as np
import pytest
from both_engines import assert_agree

import retrograd as rg


def point(torch: Any) -> Any:
    """Three numbers in double precision that require grad."""
    return torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=True)


HEALTHY: dict[str, Any] = {
    "product": lambda t: (lambda x, y: x * y.exp(), (point(t), point(t))),
    "linear": lambda t: (lambda x: 2 * x, point(t)),
    "two outputs": lambda t: (lambda x: (x**3, x.sin()), point(t)),
    "partly constant": lambda t: (lambda x: (x**3, t.ones(2, dtype=t.float64)), point(t)),
    "with a number": lambda t: (lambda x, k: x**k, (point(t), 3)),
    "custom": lambda t: (functions.square(t), point(t)),
    "scalar": lambda t: (lambda x: (x**3).sum(), point(t)),
    "in place": lambda t: (lambda x: x.clone().mul_(2).exp_(), point(t)),
    "saved output": lambda t: (lambda x: x.tanh() * x.sigmoid(), point(t)),
    "absolute value": lambda t: (lambda c: c.abs(), t.tensor([1 + 2j, 0.5j], dtype=t.complex128, requires_grad=True)),
    "complex": lambda t: (lambda c: c * c, t.tensor([1 + 2j, 0.5j], dtype=t.complex128, requires_grad=True)),
}


@pytest.mark.parametrize("kind", HEALTHY)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fast_mode": True},
        {"check_fwd_over_rev": True},
        {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False},
        {"gen_non_contig_grad_outputs": True},
        {"check_batched_grad": True},
    ],
    ids=str,
)
def test_healthy_functions_pass_e48(kind: str, options: dict[str, bool]) -> None:
    """E-48: right second derivatives pass, in reverse over reverse and forward over reverse."""
    assert assert_agree(lambda t: t.autograd.gradgradcheck(*HEALTHY[kind](t), **options)).value is True


FAULTS: dict[str, tuple[Any, str]] = {
    "once differentiable": (functions.once, ""),
    "saved intermediate": (functions.saved_intermediate, "Jacobian mismatch"),
    "wrong second order": (
        lambda t: functions.custom(t, lambda x: x**3, lambda g, x: 3 * g * x * x.detach()),
        "Jacobian mismatch for output 0 with respect to input 0",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_second_order_are_found_e48(fault: str) -> None:
    """E-48: functions whose first derivative is right and whose second is not fail gradgradcheck alone."""
    make, phrase = FAULTS[fault]
    assert assert_agree(lambda t: t.autograd.gradcheck(make(t), point(t))).value is True
    found = assert_agree(lambda t: t.autograd.gradgradcheck(make(t), point(t)), phrase=phrase)
    assert found.error in ("GradcheckError", "RuntimeError")
    assert assert_agree(lambda t: t.autograd.gradgradcheck(make(t), point(t), raise_exception=False)).value is not True


def test_given_gradients_are_used_e48() -> None:
    """E-48: with grad_outputs given those are differentiated, and need not require grad."""

    def program(torch: Any, tracked: bool) -> Any:
        vector = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=tracked)
        return torch.autograd.gradgradcheck(lambda x: x**3, point(torch), vector)

    assert assert_agree(lambda t: program(t, True)).value is True
    assert assert_agree(lambda t: program(t, False)).value is True


@pytest.mark.parametrize(
    "options",
    [
        {"check_rev_over_rev": False},
        {"check_rev_over_rev": False, "check_fwd_over_rev": True},
        {
            "check_rev_over_rev": False,
            "check_fwd_over_rev": True,
            "check_undefined_grad": False,
            "check_batched_grad": True,
        },
    ],
    ids=str,
)
def test_inconsistent_options_e48(options: dict[str, bool]) -> None:
    """E-48: both directions off, or a check that needs reverse over reverse without it, is an AssertionError."""
    found = assert_agree(lambda t: t.autograd.gradgradcheck(lambda x: x**2, point(t), **options), phrase="to be True")
    assert found.error == "AssertionError"


def test_nothing_to_vary_e48() -> None:
    """E-48: without an input that requires grad there is nothing to check."""
    found = assert_agree(lambda t: t.autograd.gradgradcheck(lambda x: x * 2, point(t).detach()))
    assert found.error == "ValueError"


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "log_softmax", "relu"])
def test_derivatives_with_a_node_of_their_own(name: str) -> None:
    """The node of a gradient that has a graph is PyTorch's, with PyTorch's successors, and its derivatives agree."""
    torch = pytest.importorskip("torch")

    def run(t: Any) -> Any:
        x, w = point(t), point(t)
        out = getattr(t, name)(x, 0) if name == "log_softmax" else getattr(t, name)(x)
        (g,) = t.autograd.grad((out * w).sum(), x, create_graph=True)
        names = [g.grad_fn.name(), *[node.name() for node, _ in g.grad_fn.next_functions]]
        return names, [d.tolist() for d in t.autograd.grad((g * g).sum(), (x, w))]

    (names, ours), (wanted, theirs) = run(rg), run(torch)
    assert names == wanted
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)

"""SPEC E, operators: a slope that does not depend on the input can still be derived by it, as in PyTorch: zeros."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

real_torch = pytest.importorskip("torch")

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nll_loss": lambda t, F, x: F.nll_loss(x[0, 0], t.tensor([1, 0, 3])),
    "nll_loss, each": lambda t, F, x: F.nll_loss(x[0, 0], t.tensor([1, 0, 3]), reduction="none"),
    "nll_loss, weighted": lambda t, F, x: F.nll_loss(x[0, 0], t.tensor([1, 0, 3]), t.arange(4.0).double()),
    "nll_loss of images": lambda t, F, x: F.nll_loss(x, t.ones(2, 3, 4, dtype=t.int64)),
    "reflected": lambda t, F, x: F.pad(x, (1, 2, 1, 0), mode="reflect"),
    "reflected in one": lambda t, F, x: F.pad(x[0], (1, 2), mode="reflect"),
    "replicated": lambda t, F, x: F.pad(x, (1, 2, 1, 0), mode="replicate"),
    "leaky_relu_": lambda t, F, x: F.leaky_relu_(x.clone()),
    "rrelu_": lambda t, F, x: F.rrelu_(x.clone()),
}  # fmt: skip


def _twice(torch: Any, call: Callable[[Any, Any, Any], Any]) -> Any:
    """The name of the first gradient's node, that gradient, and those of its square by input and incoming gradient."""
    torch.manual_seed(0)
    x = (torch.arange(48.0) * 37 % 41 - 20).reshape(2, 2, 3, 4).double().requires_grad_()
    y = call(torch, torch.nn.functional, x)
    back = torch.ones_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, back, create_graph=True)
    (alone,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    second = torch.autograd.grad((g * g).sum(), [x, back])
    return alone.requires_grad, *[t.detach().numpy() for t in (g, *second)]


@pytest.mark.parametrize("name", CALLS)
def test_the_second_gradient_is_torchs(name: str) -> None:
    """It is zeros by the input, where ours once did not require grad."""
    for ours, theirs in zip(_twice(retrograd, CALLS[name]), _twice(real_torch, CALLS[name]), strict=True):
        assert ours == pytest.approx(theirs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["nll_loss", "reflected"])
def test_forward_mode_goes_through_the_gradient(name: str) -> None:
    """The tangent of a gradient, as PyTorch computes it."""

    def tangent(torch: Any) -> Any:
        def gradient(x: Any) -> Any:
            return torch.func.grad(lambda x: (CALLS[name](torch, torch.nn.functional, x) ** 3).sum())(x)

        x = (torch.arange(48.0) * 37 % 41).reshape(2, 2, 3, 4).double()
        return torch.func.jvp(gradient, (x,), (torch.ones_like(x),))[1].numpy()

    assert tangent(retrograd) == pytest.approx(tangent(real_torch))


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_products_with_two_zeros_in_one_place_are_derived_once(name: str) -> None:
    """First gradients of such products are right; second ones are refused, in PyTorch's words, and not made up."""
    for torch in (real_torch, retrograd):
        x, source = (torch.tensor(v).double().requires_grad_() for v in ([1.0, 2.0], [0.0, 0.0, 4.0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's index_reduce is in beta
            out = getattr(torch, name)(x, 0, torch.tensor([0, 0, 1]), source, "prod")
        grads = torch.autograd.grad(out.sum(), (x, source), create_graph=True)
        assert [g.tolist() for g in grads] == [[0.0, 4.0], [0.0, 0.0, 2.0]]
        with pytest.raises(RuntimeError, match="Double backward is unsupported for .* when >1 zeros"):
            torch.autograd.grad(grads[1].sum(), source)

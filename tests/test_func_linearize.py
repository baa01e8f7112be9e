"""``torch.func.linearize`` and ``vjp`` within and beneath other transforms; against differences in double precision.

PyTorch cannot be asked: derivatives of its ``linearize`` read memory that was never written (2.13), or are refused.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch

func = importlib.import_module("retrograd.func")
X = 0.7


def f(x: Any) -> Any:
    """A function of tensors."""
    return x.sin() * x * x


def slope(x: float) -> float:
    """Its derivative, by hand."""
    return math.cos(x) * x * x + 2 * x * math.sin(x)


def difference(g: Callable[[float], float], x: float = X, h: float = 1e-4) -> float:
    """The derivative of a function of numbers."""
    return (g(x - 2 * h) - 8 * g(x - h) + 8 * g(x + h) - g(x + 2 * h)) / (12 * h)


def one() -> Any:
    return torch.tensor(1.0, dtype=torch.float64)


def at(v: Any) -> Any:
    """The slope at a tensor, by ``linearize``."""
    return func.linearize(f, v)[1](one())


def weighed(push: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: push(t) * t


def recorded(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def derived(x: Any) -> Any:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(g(leaf), leaf)[0]

    return derived


DERIVATIVES: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "grad": lambda g: func.grad(g),
    "jvp": lambda g: lambda x: func.jvp(g, (x,), (one(),))[1],
    "vjp": lambda g: lambda x: func.vjp(g, x)[1](one())[0],
    "jacrev": lambda g: func.jacrev(g),
    "jacfwd": lambda g: func.jacfwd(g),
    "linearize": lambda g: lambda x: func.linearize(g, x)[1](one()),
    "vmap of grad": lambda g: lambda x: func.vmap(func.grad(g))(torch.stack([x, x]))[0],
    "autograd": recorded,
}
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "value": (lambda v: func.linearize(f, v)[0], lambda x: x * x * math.sin(x)),
    "slope": (at, slope),
    "captured": (lambda v: func.linearize(lambda u: f(u) * v, v)[1](one()), lambda v: slope(v) * v),
    "direction": (lambda v: func.linearize(f, v)[1](v), lambda v: slope(v) * v),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_linearized_functions(name: str) -> None:
    """F-50: by the point, what the function refers to, and the direction; made beneath the transform or before it."""
    x = torch.tensor(X, dtype=torch.float64)
    for kind, (found, wanted) in FUNCTIONS.items():
        assert DERIVATIVES[name](found)(x).item() == pytest.approx(difference(wanted), rel=1e-8), kind
    before = func.linearize(f, x)[1], lambda t: func.vjp(f, x)[1](t)[0]
    pulled = func.vjp(f, x)[1]
    for push in (*before, lambda t: pulled(t)[0]):
        assert DERIVATIVES[name](push)(x).item() == pytest.approx(slope(X), rel=1e-12)
        assert DERIVATIVES[name](weighed(push))(x).item() == pytest.approx(2 * X * slope(X), rel=1e-12)


def test_second_derivatives_of_linearized_functions() -> None:
    """F-50: a slope by ``linearize`` is differentiated twice."""
    x = torch.tensor(X, dtype=torch.float64)
    wanted = difference(lambda v: difference(slope, v, 1e-3), h=1e-3)
    assert func.grad(func.grad(at))(x).item() == pytest.approx(wanted, rel=1e-6)
    assert func.hessian(at)(x).item() == pytest.approx(wanted, rel=1e-6)

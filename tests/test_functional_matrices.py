"""Whole matrices: jacobian (E-37) and hessian (E-38)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree

import retrograd

WAYS = {
    "rows": {},
    "batch": {"vectorize": True},
    "columns": {"vectorize": True, "strategy": "forward-mode"},
}


def outer_ways(way: str) -> dict[str, Any]:
    """The same ways, spelled as ``hessian`` wants them."""
    return {{"strategy": "outer_jacobian_strategy"}.get(key, key): value for key, value in WAYS[way].items()}


@pytest.mark.parametrize("way", WAYS)
def test_jacobian_closed_form_e37(way: str) -> None:
    """E-37: the Jacobian of exp(x)[:, None] * y has exp(x_i) y_j and exp(x_i) on the right diagonals."""
    x, y = np.array([0.1, -0.4]), np.array([2.0, 3.0, 5.0])
    by_x, by_y = retrograd.autograd.functional.jacobian(
        lambda x, y: x.exp().reshape(2, 1) * y, (retrograd.tensor(x), retrograd.tensor(y)), **WAYS[way]
    )
    wanted_x, wanted_y = np.zeros((2, 3, 2)), np.zeros((2, 3, 3))
    for i, j in itertools.product(range(2), range(3)):
        wanted_x[i, j, i] = np.exp(x[i]) * y[j]
        wanted_y[i, j, j] = np.exp(x[i])
    np.testing.assert_allclose(by_x.numpy(), wanted_x)
    np.testing.assert_allclose(by_y.numpy(), wanted_y)


@pytest.mark.parametrize("way", WAYS)
def test_hessian_closed_form_e38(way: str) -> None:
    """E-38: the Hessian of x^T B x + sum(x^3) is B + B^T + 6 diag(x)."""
    b, x = np.arange(9.0).reshape(3, 3), np.array([0.3, -0.7, 1.1])
    found = retrograd.autograd.functional.hessian(
        lambda x: x @ (retrograd.tensor(b) @ x) + (x**3).sum(), retrograd.tensor(x), **outer_ways(way)
    )
    np.testing.assert_allclose(found.detach().numpy(), b + b.T + 6 * np.diag(x))


FUNCTIONS = {
    "vector": lambda t, x, y: x * y.sin(),
    "matrix": lambda t, x, y: x.reshape(3, 1) * y,
    "scalar": lambda t, x, y: (x * y).sum(),
    "two outputs": lambda t, x, y: (x * y, y.sum()),
    "unused": lambda t, x, y: y**3,
    "one constant": lambda t, x, y: (x * 2, t.ones(2, dtype=t.float64)),
    "constant": lambda t, x, y: t.ones(2, dtype=t.float64),
    "tuple of one": lambda t, x, y: ((x * y).sum(),),
    "view and write": lambda t, x, y: (x * y).view(3).mul_(2),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_jacobian_same_as_torch_e37(kind: str, way: str) -> None:
    """E-37: values, shapes, nesting and history are PyTorch's in all three ways of computing."""

    def program(torch: Any, **options: Any) -> Any:
        x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)
        y = torch.tensor([2.0, 0.5, -1.0], dtype=torch.float64, requires_grad=True)
        return torch.autograd.functional.jacobian(lambda x, y: FUNCTIONS[kind](torch, x, y), (x, y), **options)

    assert_agree(lambda torch: program(torch, **WAYS[way]))
    if way != "columns":
        assert_agree(lambda torch: program(torch, create_graph=True, **WAYS[way]))


SCALARS = {
    "mixed": lambda t, x, y: (x.exp() * y * y).sum(),
    "one element": lambda t, x, y: (x * y * y).sum().reshape(1, 1),
    "linear": lambda t, x, y: x.sum() + y.sum(),
    "unused": lambda t, x, y: (y**3).sum(),
    "constant": lambda t, x, y: t.ones((), dtype=t.float64),
    "product": lambda t, x, y: x[0] * x[1] * y[0] * y[1],
}


@pytest.mark.parametrize("kind", SCALARS)
@pytest.mark.parametrize("way", WAYS)
def test_hessian_same_as_torch_e38(kind: str, way: str) -> None:
    """E-38: values, shapes, nesting and history are PyTorch's in all three ways of computing."""

    def program(torch: Any, **options: Any) -> Any:
        x = torch.tensor([0.3, -0.7], dtype=torch.float64)
        y = torch.tensor([2.0, 0.5], dtype=torch.float64, requires_grad=True)
        return torch.autograd.functional.hessian(lambda x, y: SCALARS[kind](torch, x, y), (x, y), **options)

    assert_agree(lambda torch: program(torch, **outer_ways(way)))
    if way != "columns":
        assert_agree(lambda torch: program(torch, create_graph=True, **outer_ways(way)))


REFUSALS = {
    "unknown strategy": ({"strategy": "sideways"}, "AssertionError", "Expected strategy to be either"),
    "columns one by one": (
        {"strategy": "forward-mode"},
        "NotImplementedError",
        "only implemented for `vectorize=True`",
    ),
    "columns with graph": (
        {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
        "NotImplementedError",
        "are not supported together",
    ),
    "columns strict": (
        {"strategy": "forward-mode", "vectorize": True, "strict": True},
        "RuntimeError",
        "are not supported together",
    ),
    "batch strict": ({"vectorize": True, "strict": True}, "RuntimeError", "are not supported together"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_options_that_exclude_each_other_e37(case: str) -> None:
    """E-37: impossible combinations of options raise PyTorch's types."""
    options, error, phrase = REFUSALS[case]
    found = assert_agree(lambda t: t.autograd.functional.jacobian(lambda x: x**2, t.ones(3), **options))
    assert found.error == error
    assert phrase in found.message


def test_hessian_misuse_e38() -> None:
    """E-38: tuple outputs, several elements, an unknown strategy and a linear function in strict mode."""

    def program(torch: Any, func: Any, **options: Any) -> Any:
        return torch.autograd.functional.hessian(func, torch.ones(3, dtype=torch.float64), **options)

    assert_agree(lambda t: program(t, lambda x: (x.sum(),)), phrase="should return a single Tensor")
    assert_agree(lambda t: program(t, lambda x: x * 2), phrase="should contain a single element")
    wrong = {"outer_jacobian_strategy": "sideways"}
    assert_agree(lambda t: program(t, lambda x: x.sum(), **wrong), phrase="Expected strategy to be either")
    linear = "jacobian of the user-provided function with respect to input 0 is independent"
    assert_agree(lambda t: program(t, lambda x: x.sum(), strict=True), phrase=linear)


def test_jacobian_strict_names_output_and_input_e37() -> None:
    """E-37: strict mode says which output does not depend on which input."""

    def program(torch: Any) -> Any:
        x = torch.ones(2, dtype=torch.float64)
        return torch.autograd.functional.jacobian(lambda x, y: (x * y, x * 2), (x, x), strict=True)

    assert_agree(program, phrase="Output 1 of the user-provided function is independent of input 1")


@pytest.mark.parametrize("way", WAYS)
def test_one_call_of_grad_per_row_e37(way: str) -> None:
    """E-37: the function is called once in reverse mode, however many rows there are."""
    calls = []

    def func(x: Any) -> Any:
        calls.append(1)
        return x**2

    retrograd.autograd.functional.jacobian(func, retrograd.ones(4), **WAYS[way])
    assert len(calls) == (4 if way == "columns" else 1)


def test_third_order_e37_e38() -> None:
    """E-37, E-38: the Jacobian of a Hessian with create_graph holds third derivatives: 6 on the diagonal of x^3."""

    def hessian(x: Any) -> Any:
        return retrograd.autograd.functional.hessian(lambda x: (x**3).sum(), x, create_graph=True)

    third = retrograd.autograd.functional.jacobian(hessian, retrograd.tensor(np.array([1.0, 2.0])))
    wanted = np.zeros((2, 2, 2))
    wanted[0, 0, 0] = wanted[1, 1, 1] = 6
    np.testing.assert_allclose(third.numpy(), wanted)


def test_standard_basis_e37() -> None:
    """E-37: the identity of all elements together is cut into blocks of columns, each in its tensor's type."""

    def program(torch: Any) -> Any:
        tensors = (torch.ones(1), torch.ones(2, dtype=torch.float64), torch.ones(1))
        return torch.autograd.functional._construct_standard_basis_for(tensors, (1, 2, 1))

    assert_agree(program)
    assert_agree(lambda t: t.autograd.functional._construct_standard_basis_for((), ()), phrase="at least one tensor")

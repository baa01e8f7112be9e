"""Vector products: vjp (E-39), jvp (E-40), vhp and hvp (E-41)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree, outcome

import retrograd

A = np.array([[2.0, -1.0, 0.5], [0.0, 1.0, 3.0]])
X = np.array([0.3, -0.7, 1.1])


def as_array(tensor: Any) -> np.ndarray[Any, Any]:
    """A tensor's values."""
    return np.asarray(tensor.detach().numpy())


def bends(torch: Any, x: Any) -> Any:
    """tanh(A x), whose Jacobian is diag(1 - tanh^2) A."""
    return torch.tanh(torch.tensor(A) @ x)


def jacobian_of_bends() -> np.ndarray[Any, Any]:
    """The closed form."""
    return (1 - np.tanh(A @ X) ** 2)[:, None] * A


def test_vjp_closed_form_e39() -> None:
    """E-39: vjp returns the outputs and v^T J, as worked out by hand."""
    v = np.array([1.5, -2.0])
    out, product = retrograd.autograd.functional.vjp(
        lambda x: bends(retrograd, x), retrograd.tensor(X), retrograd.tensor(v)
    )
    np.testing.assert_allclose(as_array(out), np.tanh(A @ X))
    np.testing.assert_allclose(as_array(product), v @ jacobian_of_bends())


def test_jvp_closed_form_e40() -> None:
    """E-40: jvp returns the outputs and J v, as worked out by hand."""
    v = np.array([1.5, -2.0, 0.25])
    out, product = retrograd.autograd.functional.jvp(
        lambda x: bends(retrograd, x), retrograd.tensor(X), retrograd.tensor(v)
    )
    np.testing.assert_allclose(as_array(out), np.tanh(A @ X))
    np.testing.assert_allclose(as_array(product), jacobian_of_bends() @ v)


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_hessian_products_closed_form_e41(name: str) -> None:
    """E-41: vhp and hvp of x^T B x + sum(x^3) give (B + B^T + 6 diag(x)) v."""
    b = np.arange(9.0).reshape(3, 3)
    v = np.array([1.5, -2.0, 0.25])
    function = getattr(retrograd.autograd.functional, name)
    out, product = function(
        lambda x: x @ (retrograd.tensor(b) @ x) + (x**3).sum(), retrograd.tensor(X), retrograd.tensor(v)
    )
    np.testing.assert_allclose(as_array(out), X @ b @ X + (X**3).sum())
    np.testing.assert_allclose(as_array(product), (b + b.T + 6 * np.diag(X)) @ v)


FUNCTIONS = {
    "scalar": lambda t, x, y: (x.exp() * y).sum(),
    "one element": lambda t, x, y: (x * y * y).sum().reshape(1, 1),
    "vector": lambda t, x, y: x * y.sin(),
    "two outputs": lambda t, x, y: (x * y, y.sum()),
    "unused": lambda t, x, y: (y**3).sum(),
    "linear": lambda t, x, y: x.sum() - 2 * y.sum(),
    "one constant": lambda t, x, y: (x * 2, t.ones(2, dtype=t.float64)),
    "constant": lambda t, x, y: t.ones((), dtype=t.float64),
    "tuple of one": lambda t, x, y: ((x * y).sum(),),
    "narrower": lambda t, x, y: (x * y).float().sum(),
}


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_same_as_torch_e39_e40_e41(name: str, kind: str, create_graph: bool) -> None:
    """E-39, E-40, E-41: values, types, history and errors are PyTorch's, with and without v."""

    def inputs(torch: Any) -> Any:
        x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)
        y = torch.tensor([2.0, 0.5, -1.0], dtype=torch.float64, requires_grad=True)
        return x, y

    def program(torch: Any, with_v: bool) -> Any:
        def func(x: Any, y: Any) -> Any:
            return FUNCTIONS[kind](torch, x, y)

        points = inputs(torch)
        v = points
        if name == "vjp":
            out = func(*points)
            v = tuple(o.detach() + 1 for o in out) if isinstance(out, tuple) else out.detach() + 1
        function = getattr(torch.autograd.functional, name)
        return function(func, points, v if with_v else None, create_graph=create_graph)

    assert_agree(lambda torch: program(torch, True))
    assert_agree(lambda torch: program(torch, False))


MISFITS = {
    "left out": ("can only be None if", lambda t: None),
    "wrong size": ("v has invalid size: should be", lambda t: t.ones(7, dtype=t.float64)),
    "wrong shape": ("v has invalid size: should be", lambda t: t.ones(3, 1, dtype=t.float64)),
    "too many": ("The given v should contain a single Tensor", lambda t: (t.ones(3), t.ones(3))),
    "no tensor": ("must be either a Tensor or a tuple of Tensors", lambda t: [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
@pytest.mark.parametrize("misfit", MISFITS)
def test_wrong_v_for_one_tensor_e39_e40_e41(name: str, misfit: str) -> None:
    """E-39, E-40, E-41: a v that is missing, of another size, number or type is refused in PyTorch's words."""
    phrase, v = MISFITS[misfit]

    def program(torch: Any) -> Any:
        x = torch.ones(3, dtype=torch.float64)
        func = (lambda x: x * 2) if name in ("vjp", "jvp") else (lambda x: (x**2).sum())
        return getattr(torch.autograd.functional, name)(func, x, v(torch))

    assert_agree(program, phrase=phrase)


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_wrong_v_for_a_tuple_e39_e40_e41(name: str) -> None:
    """E-39, E-40, E-41: for tuples the message names the entry, or both lengths."""

    def program(torch: Any, v: Any) -> Any:
        x = torch.ones(3, dtype=torch.float64)
        func = (lambda x, y: (x * y, x + y)) if name == "vjp" else (lambda x, y: (x * y * y).sum())
        return getattr(torch.autograd.functional, name)(func, (x, x), v(torch))

    short = "v is a tuple of invalid length: should be 2 but got 1"
    assert_agree(lambda torch: program(torch, lambda t: (t.ones(3),)), phrase=short)
    size = "Entry 1 in v has invalid size"
    assert_agree(lambda torch: program(torch, lambda t: (t.ones(3), t.ones(4))), phrase=size)


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_single_element_functions_only_e41(name: str) -> None:
    """E-41: tuple outputs and outputs of several elements are refused, naming the function."""

    def program(torch: Any, func: Any) -> Any:
        x = torch.ones(3, dtype=torch.float64)
        return getattr(torch.autograd.functional, name)(func, x, x)

    single = f"The function given to {name} should return a single Tensor"
    assert_agree(lambda torch: program(torch, lambda x: (x.sum(),)), phrase=single)
    one = f"given to {name} should contain a single element"
    assert_agree(lambda torch: program(torch, lambda x: x * 2), phrase=one)


def test_hvp_is_vhp_transposed_e41() -> None:
    """E-41: on a random function of two inputs u^T (H v) and (u^T H) v agree."""
    functional = retrograd.autograd.functional
    rng = np.random.default_rng(5)
    x, y, ux, uy, vx, vy = (retrograd.tensor(rng.standard_normal(4)) for _ in range(6))

    def func(x: Any, y: Any) -> Any:
        return (x.exp() * y.sin()).sum() + (x * x * y).sum()

    hv = functional.hvp(func, (x, y), (vx, vy))[1]
    uh = functional.vhp(func, (x, y), (ux, uy))[1]
    left = (ux * hv[0]).sum() + (uy * hv[1]).sum()
    right = (uh[0] * vx).sum() + (uh[1] * vy).sum()
    np.testing.assert_allclose(as_array(left), as_array(right))


def test_jvp_with_differentiable_v_e40() -> None:
    """E-40: with create_graph the result can be differentiated with respect to v as well."""

    def program(torch: Any) -> Any:
        x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64, requires_grad=True)
        v = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        product = torch.autograd.functional.jvp(lambda x: x.exp(), x, v, create_graph=True)[1]
        return torch.autograd.grad(product.sum(), [x, v])

    assert_agree(program)


def test_error_of_a_bad_v_says_both_sizes_e39() -> None:
    """E-39: the message has the size that is needed and the size that was given."""
    found = outcome(
        lambda t: t.autograd.functional.vjp(lambda x: x * 2, t.ones(3), t.ones(7)),
        retrograd,
    )
    assert "[3]" in found.message
    assert "[7]" in found.message

"""gradcheck: what it accepts, refuses and leaves behind (E-42, E-43)."""

from __future__ import annotations

import inspect
from typing import Any

import gradcheck_functions as functions
import numpy as np
import pytest
from both_engines import assert_agree, outcome

import retrograd


def point(torch: Any, *, tracked: bool = True) -> Any:
    """Three numbers in double precision."""
    return torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=tracked)


INPUTS = {
    "tensor": lambda t: (lambda x: x * x, point(t)),
    "tuple": lambda t: (lambda x, y: x * y, (point(t), point(t))),
    "list": lambda t: (lambda x, y: x * y, [point(t), point(t)]),
    "with a number": lambda t: (lambda x, k: x * k, (point(t), 3)),
    "with a constant": lambda t: (lambda x, y: x * y, (point(t), point(t, tracked=False))),
    "list of outputs": lambda t: (lambda x: [x * 2, x.exp()], point(t)),
    "number": lambda t: (lambda x: x**2, t.tensor(2.0, dtype=t.float64, requires_grad=True)),
    "empty": lambda t: (lambda x: x * 2, t.zeros(0, dtype=t.float64, requires_grad=True)),
    "empty output": lambda t: (lambda x: x[:0], point(t)),
    "transposed": lambda t: (lambda x: x * x, t.ones(2, 3, dtype=t.float64).t().requires_grad_()),
    "returned": lambda t: (lambda x: x, point(t)),
    "integer output": lambda t: (lambda x: (x * 2, (x * 100).long()), point(t)),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("fast_mode", [False, True])
def test_accepted_inputs_e42(kind: str, fast_mode: bool) -> None:
    """E-42: tensors, tuples and lists, with non-tensors and constants among them, give True."""
    found = assert_agree(lambda t: t.autograd.gradcheck(*INPUTS[kind](t), fast_mode=fast_mode))
    assert found.value is True


MISUSES = {
    "nothing to vary": ("ValueError", lambda t: (lambda x: x, point(t, tracked=False))),
    "shared memory": (
        "RuntimeError",
        lambda t: (lambda x: x, t.ones(1, dtype=t.float64, requires_grad=True).expand(3)),
    ),
    "number returned": ("AttributeError", lambda t: (lambda x: 3.0, point(t))),
    "nothing returned": ("AttributeError", lambda t: (lambda x: None, point(t))),
}
PHRASES = {
    "nothing to vary": "at least one input tensor to require gradient",
    "shared memory": "dimension with stride 0",
}


@pytest.mark.parametrize("kind", MISUSES)
def test_refused_inputs_e42(kind: str) -> None:
    """E-42: inputs and outputs that cannot be checked raise PyTorch's types, also with raise_exception=False."""
    error, make = MISUSES[kind]
    for options in ({}, {"raise_exception": False}):
        found = assert_agree(lambda t, o=options: t.autograd.gradcheck(*make(t), **o), phrase=PHRASES.get(kind, ""))
        assert found.error == error


def test_single_precision_warns_e42() -> None:
    """E-42: an input that is not of double precision is announced as likely to fail, and then fails."""

    def program(torch: Any) -> Any:
        return torch.autograd.gradcheck(lambda x: x.exp(), torch.ones(2, requires_grad=True))

    found = assert_agree(program, phrase="Jacobian mismatch")
    assert found.warned == ("UserWarning",)


def test_failure_is_an_exception_or_false_e42() -> None:
    """E-42: GradcheckError is a RuntimeError; raise_exception=False turns it, and only it, into False."""

    def wrong(torch: Any) -> Any:
        return lambda x: x.detach() * 2

    assert issubclass(functions.module(retrograd).GradcheckError, RuntimeError)
    assert assert_agree(lambda t: t.autograd.gradcheck(wrong(t), point(t))).error == "GradcheckError"
    assert assert_agree(lambda t: t.autograd.gradcheck(wrong(t), point(t), raise_exception=False)).value is False
    own = lambda t: t.autograd.gradcheck(lambda x: {}["lost"], point(t), raise_exception=False)  # noqa: E731
    assert assert_agree(own).error == "KeyError"

    def refuse(torch: Any) -> Any:
        raise RuntimeError("not today")

    own = lambda t: t.autograd.gradcheck(refuse, point(t), raise_exception=False)  # noqa: E731
    assert assert_agree(own, phrase="not today").error == "RuntimeError"


@pytest.mark.parametrize(
    "options",
    [
        {"check_backward_ad": False},
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
        {"check_batched_forward_grad": True},
    ],
    ids=str,
)
def test_inconsistent_options_e42(options: dict[str, bool]) -> None:
    """E-42: options that ask for a check and switch off what it needs are an AssertionError."""
    found = assert_agree(lambda t: t.autograd.gradcheck(lambda x: x * 2, point(t), **options), phrase="to be True")
    assert found.error == "AssertionError"


@pytest.mark.parametrize("name", ["gradcheck", "gradgradcheck"])
def test_signatures_e42(name: str) -> None:
    """E-42: names, order, kinds and defaults of the arguments are PyTorch's."""
    torch = pytest.importorskip("torch")

    def arguments(engine: Any) -> list[Any]:
        parameters = inspect.signature(getattr(engine.autograd, name)).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    assert arguments(retrograd) == arguments(torch)


@pytest.mark.parametrize(
    "options", [{}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_batched_grad": True}], ids=str
)
def test_inputs_are_left_as_they_were_e43(options: dict[str, bool]) -> None:
    """E-43: afterwards the input has its values, version 0 and no .grad."""

    def program(torch: Any) -> Any:
        x = point(torch)
        torch.autograd.gradcheck(lambda x: x.exp().sum(), x, **options)
        return x, x._version, x.grad, x.is_leaf

    assert_agree(program)


def test_inputs_are_restored_after_an_error_e43() -> None:
    """E-43: a function that raises while its input is perturbed gets its values back."""
    x = point(retrograd)
    seen: list[list[float]] = []

    def func(x: Any) -> Any:
        seen.append(x.tolist())
        if len(seen) == 4:
            raise KeyError("fourth call")
        return x * 2

    assert outcome(lambda t: t.autograd.gradcheck(func, x), retrograd).error == "KeyError"
    assert seen[1] != seen[0]
    assert x.tolist() == [1.5, -0.5, 2.0]


def test_perturbation_reaches_captured_tensors_e43() -> None:
    """E-43: the input's own memory is perturbed, so that a function may ignore its argument and use a capture."""

    def program(torch: Any) -> Any:
        x = point(torch)
        return torch.autograd.gradcheck(lambda _: x * x, x)

    assert assert_agree(program).value is True


@pytest.mark.parametrize("what", ["shape", "dtype"])
def test_outputs_must_stay_alike_e43(what: str) -> None:
    """E-43: outputs whose shape or dtype changes under perturbation are an AssertionError."""

    def program(torch: Any) -> Any:
        calls = []

        def func(x: Any) -> Any:
            calls.append(1)
            if len(calls) == 3:
                return torch.cat([x, x]) if what == "shape" else x.float()
            return x * 2

        return torch.autograd.gradcheck(func, point(torch))

    assert assert_agree(program, phrase=f"same {what}").error == "AssertionError"


def test_step_size_matters_e43() -> None:
    """E-43: eps is the step of the difference: with a huge one the cubic term makes the check fail."""
    check = lambda t, eps: t.autograd.gradcheck(lambda x: x**3, point(t), eps=eps)  # noqa: E731
    assert assert_agree(lambda t: check(t, 1e-4)).value is True
    assert assert_agree(lambda t: check(t, 1.0), phrase="Jacobian mismatch").error == "GradcheckError"


def test_central_difference_closed_form_e43() -> None:
    """E-43: the numerical Jacobian of x^3 has 3 x^2 + eps^2 on its diagonal; rows are inputs, columns outputs."""

    def program(torch: Any) -> Any:
        module = functions.module(torch)
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        func = lambda x: torch.stack([x[0] ** 3, x[1] ** 3, x[0] * x[1]])  # noqa: E731
        return module.get_numerical_jacobian_wrt_specific_input(func, 0, (x,), (func(x),), 0.1)

    found = assert_agree(program)
    array = found.value[0][-1]
    assert array.shape == (2, 3)
    np.testing.assert_allclose(array, [[3.01, 0.0, 2.0], [0.0, 12.01, 1.0]], atol=1e-12)

"""gradcheck: analytical side, comparison and the extra tests (E-44, E-45)."""

from __future__ import annotations

from typing import Any

import gradcheck_functions as functions
import numpy as np
import pytest
from both_engines import assert_agree, outcome

import retrograd

FAULTS: dict[str, tuple[Any, str]] = {
    "wrong factor": (functions.wrong_factor, "Jacobian mismatch for output 0 with respect to input 0"),
    "constant gradient": (functions.constant_gradient, "Jacobian mismatch for output 0"),
    "no gradient": (lambda t: functions.custom(t, lambda x: x**2, lambda g, x: None), "Jacobian mismatch for output 0"),
    "detached": (lambda t: lambda x: x.detach() * 2, "Numerical gradient for function expected to be zero"),
    "drifting": (functions.drifting, "Backward is not reentrant"),
    "ones for None": (functions.one_for_none, "Expected all input grads to be undefined or zero"),
    "ones for one None": (functions.ones_for_zero_and_none, "Expected all input grads to be undefined or zero"),
    "raises for None": (
        lambda t: functions.raising(t, RuntimeError),
        "Expected backward function to handle undefined output grads",
    ),
    "singular": (lambda t: lambda x: (x * 0).abs().sqrt(), "Jacobian mismatch"),
}


def point(torch: Any) -> Any:
    """Three numbers in double precision that require grad."""
    return torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("fast_mode", [False, True])
def test_faults_are_found_e44_e45(fault: str, fast_mode: bool) -> None:
    """E-44, E-45: each faulty function fails as with PyTorch, in the same words."""
    make, phrase = FAULTS[fault]
    found = assert_agree(lambda t: t.autograd.gradcheck(make(t), point(t), fast_mode=fast_mode), phrase=phrase)
    assert found.error == "GradcheckError"


def test_message_has_both_matrices_e45() -> None:
    """E-45: the message shows the numerical Jacobian 2x and the analytical 3x, in this order."""
    found = assert_agree(
        lambda t: t.autograd.gradcheck(functions.wrong_factor(t), point(t)[:1].detach().requires_grad_())
    )
    numerical, analytical = found.message.split("numerical:")[1].split("analytical:")
    assert "3.0" in numerical
    assert "4.5" in analytical


def test_mismatch_is_numbered_e45() -> None:
    """E-45: the second output's fault with respect to the second input is reported as such."""

    def program(torch: Any) -> Any:
        wrong = functions.wrong_factor(torch)
        return torch.autograd.gradcheck(lambda x, y: (x * y, x + wrong(y)), (point(torch), point(torch)))

    assert_agree(program, phrase="Jacobian mismatch for output 1 with respect to input 1")


HEALTHY: dict[str, Any] = {
    "custom": functions.square,
    "two outputs": lambda t: functions.pair(t, fill=True),
    "constant": lambda t: lambda x: t.ones(2, dtype=t.float64),
    "in place": lambda t: lambda x: x.clone().mul_(2).exp_(),
    "views": lambda t: lambda x: x.view(3, 1).expand(3, 2).t(),
    "broadcast": lambda t: lambda x: x.reshape(3, 1) * x,
    "partly constant": lambda t: lambda x: (x * x, t.ones(2, dtype=t.float64)),
    "own error type for None": lambda t: lambda x: x.sum() * x,
}


@pytest.mark.parametrize("kind", HEALTHY)
@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_batched_grad": True}, {"masked": True}], ids=str)
def test_healthy_functions_pass_e45(kind: str, options: dict[str, bool]) -> None:
    """E-45: right gradients pass, with every extra test."""
    assert assert_agree(lambda t: t.autograd.gradcheck(HEALTHY[kind](t), point(t), **options)).value is True


def test_other_errors_in_backward_pass_through_e45() -> None:
    """E-45: only a RuntimeError counts as "cannot handle None"; a KeyError comes out as it is."""
    found = assert_agree(lambda t: t.autograd.gradcheck(functions.raising(t, KeyError), point(t)))
    assert found.error == "KeyError"


@pytest.mark.parametrize("make", [functions.one_for_none, lambda t: functions.raising(t, RuntimeError)])
def test_undefined_gradients_can_be_left_out_e45(make: Any) -> None:
    """E-45: check_undefined_grad=False leaves out the test with missing gradients, which otherwise warns and fails."""
    assert assert_agree(lambda t: t.autograd.gradcheck(make(t), point(t))).warned == ("UserWarning",)
    assert assert_agree(lambda t: t.autograd.gradcheck(make(t), point(t), check_undefined_grad=False)).value is True


def test_each_output_may_come_alone_e44() -> None:
    """E-44: outputs are differentiated one by one, so that a backward that wants all gradients at once fails."""
    found = assert_agree(lambda t: t.autograd.gradcheck(functions.pair(t, fill=False), point(t)), phrase="is missing")
    assert found.error == "RuntimeError"


def test_tolerances_e45() -> None:
    """E-45: an error of a factor 1.01 passes with rtol above it and with atol above the difference only."""

    def program(torch: Any, **options: float) -> Any:
        nearly = functions.custom(torch, lambda x: x**2, lambda g, x: 2.02 * x * g)
        return torch.autograd.gradcheck(nearly, point(torch), **options)

    assert assert_agree(lambda t: program(t)).error == "GradcheckError"
    assert assert_agree(lambda t: program(t, rtol=0.02)).value is True
    assert assert_agree(lambda t: program(t, rtol=0.0, atol=0.05)).value is True
    assert assert_agree(lambda t: program(t, rtol=0.0, atol=0.03)).error == "GradcheckError"


def test_nondeterminism_tolerance_e44() -> None:
    """E-44: gradients that differ between passes by less than nondet_tol pass."""
    check = lambda t, tol: t.autograd.gradcheck(functions.drifting(t), point(t), nondet_tol=tol)  # noqa: E731
    assert assert_agree(lambda t: check(t, 1e-5)).value is True
    assert assert_agree(lambda t: check(t, 1e-9), phrase="tolerance for nondeterminism was 1e-09").error


def test_zero_gradients_must_stay_zero_e45() -> None:
    """E-45: a backward that adds something to the product is caught by zero gradients even where it is small."""

    def program(torch: Any, **options: Any) -> Any:
        offset = functions.custom(torch, lambda x: x * 2, lambda g, x: 2 * g + 1e-9)
        return torch.autograd.gradcheck(offset, point(torch), **options)

    assert_agree(program, phrase="backward not multiplied by grad_output")
    assert assert_agree(lambda t: program(t, masked=True, check_undefined_grad=False)).value is True


def test_batches_must_agree_e45() -> None:
    """E-45: check_batched_grad compares a batch with single passes, and a backward that drifts fails it."""
    module = retrograd.autograd
    loose = {"nondet_tol": 1.0, "atol": 1.0}
    drifting = functions.drifting(retrograd, 1e-3)
    assert module.gradcheck(drifting, point(retrograd), **loose)
    check = lambda t: t.autograd.gradcheck(drifting, point(t), check_batched_grad=True, **loose)  # noqa: E731
    found = outcome(check, retrograd)
    assert found.error == "GradcheckError"
    assert "failed while testing batched gradient computation" in found.message


def test_wrong_dtype_is_cast_by_the_engine_e44() -> None:
    """E-44: a backward that returns single precision passes, since the engine has cast it before gradcheck sees it."""

    def program(torch: Any) -> Any:
        single = functions.custom(torch, lambda x: x * 2, lambda g, x: (2 * g).float())
        return torch.autograd.gradcheck(single, point(torch), check_grad_dtypes=True)

    assert assert_agree(program).value is True


def test_wrong_size_is_an_error_e44() -> None:
    """E-44: a gradient of another size fails; the engine refuses it before gradcheck measures it."""

    def program(torch: Any) -> Any:
        short = functions.custom(torch, lambda x: x * 2, lambda g, x: (2 * g)[:2])
        return torch.autograd.gradcheck(short, point(torch))

    assert_agree(program, phrase="invalid gradient")


@pytest.mark.filterwarnings("ignore:`get_:FutureWarning")
def test_deprecated_functions_e43_e44() -> None:
    """E-43, E-44: the two Jacobians that programs call by name are there, warn, and agree with each other."""

    def program(torch: Any, name: str) -> Any:
        module = functions.module(torch)
        x = point(torch)
        if name == "get_numerical_jacobian":
            return getattr(module, name)(lambda inputs: inputs[0].exp() * 2, (x,), eps=1e-5)
        return getattr(module, name)((x,), x.exp() * 2)

    numerical = assert_agree(lambda t: program(t, "get_numerical_jacobian"))
    analytical = assert_agree(lambda t: program(t, "get_analytical_jacobian"))
    assert numerical.warned == analytical.warned == ("FutureWarning",)
    assert analytical.value[1:] == [True, True, True]
    np.testing.assert_allclose(numerical.value[0][-1], analytical.value[0][0][-1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(analytical.value[0][0][-1], np.diag(2 * np.exp([1.5, -0.5, 2.0])))


def test_deprecated_functions_refuse_e43_e44() -> None:
    """E-43, E-44: they refuse another grad_out than 1."""

    def program(torch: Any, name: str) -> Any:
        x = point(torch)
        arguments = (lambda inputs: inputs[0] * 2, (x,)) if "numerical" in name else ((x,), x * 2)
        return getattr(functions.module(torch), name)(*arguments, grad_out=2.0)

    for name in ("get_numerical_jacobian", "get_analytical_jacobian"):
        assert assert_agree(lambda t, n=name: program(t, n), phrase="Expected grad_out to be 1.0").error == "ValueError"

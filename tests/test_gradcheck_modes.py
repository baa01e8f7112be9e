"""gradcheck: fast mode (E-46), complex numbers and forward mode (E-47)."""

from __future__ import annotations

from typing import Any

import gradcheck_functions as functions
import numpy as np
import pytest
from both_engines import assert_agree, differential, outcome, raises

import retrograd

C = [1.0 + 0.5j, -0.3 + 2.0j]


def point(torch: Any) -> Any:
    """Three numbers in double precision that require grad."""
    return torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=True)


def complex_point(torch: Any) -> Any:
    """Two complex numbers in double precision that require grad."""
    return torch.tensor(C, dtype=torch.complex128, requires_grad=True)


def test_fast_mode_reports_slow_matrices_e46() -> None:
    """E-46: on a mismatch fast mode adds the full Jacobians and their largest difference."""
    check = lambda t: t.autograd.gradcheck(functions.wrong_factor(t), point(t), fast_mode=True)  # noqa: E731
    found = assert_agree(check, phrase="Jacobian mismatch for output 0 with respect to input 0")
    for phrase in ("in slow mode", "Numerical:", "Analytical:", "The max per-element difference (slow mode) is: "):
        assert phrase in found.message


def test_fast_mode_calls_the_function_less_e46() -> None:
    """E-46: fast mode needs two evaluations per input for the numerical side, not two per element."""
    calls: list[int] = []

    def func(x: Any) -> Any:
        calls.append(1)
        return x * x

    x = retrograd.ones(50, dtype=retrograd.float64, requires_grad=True)
    retrograd.autograd.gradcheck(func, x, fast_mode=True)
    fast = len(calls)
    calls.clear()
    retrograd.autograd.gradcheck(func, x)
    assert (fast, len(calls)) == (4, 102)


def test_fast_mode_leaves_random_numbers_alone_e46() -> None:
    """E-46: the random vectors come from a generator of their own and are the same in every run."""

    def program(torch: Any) -> Any:
        torch.manual_seed(3)
        torch.autograd.gradcheck(lambda x: x.exp(), point(torch), fast_mode=True)
        after = torch.rand(2)
        torch.manual_seed(3)
        return (after == torch.rand(2)).all().item()

    assert assert_agree(program).value is True
    check = lambda t: t.autograd.gradcheck(functions.wrong_factor(t), point(t), fast_mode=True)  # noqa: E731
    assert outcome(check, retrograd).message == outcome(check, retrograd).message


def test_fast_mode_scales_tolerance_e46() -> None:
    """E-46: the tolerance grows with the sums of the random vectors, so that 400 small errors do not add up to one."""

    def program(torch: Any, error: float) -> Any:
        nearly = functions.custom(torch, lambda x: x * 0, lambda g, x: g.sum().expand_as(x) * error)
        x = torch.zeros(20, dtype=torch.float64, requires_grad=True)
        return torch.autograd.gradcheck(nearly, x, fast_mode=True, atol=1e-3, rtol=0.0)

    assert assert_agree(lambda t: program(t, 0.9e-3)).value is True
    assert assert_agree(lambda t: program(t, 1.1e-3)).error == "GradcheckError"


COMPLEX: dict[str, Any] = {
    "square": lambda t: lambda c: c * c,
    "absolute": lambda t: lambda c: c.abs(),
    "with conjugate": lambda t: lambda c: c * c.conj(),
    "real of product": lambda t: lambda c: (c.real * c.imag).sum(),
    "exponential and parts": lambda t: lambda c: (c.exp(), c.real),
    "times i": lambda t: lambda c: c * 2j,
}


@pytest.mark.parametrize("kind", COMPLEX)
@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("forward", [False, True])
def test_complex_functions_pass_e47(kind: str, fast_mode: bool, forward: bool) -> None:
    """E-47: holomorphic and other complex functions pass in both modes of differentiation, slow and fast."""
    options = {"fast_mode": fast_mode, "check_forward_ad": forward}
    found = assert_agree(lambda t: t.autograd.gradcheck(COMPLEX[kind](t), complex_point(t), **options))
    assert found.value is True


def test_complex_from_real_e47() -> None:
    """E-47: a complex output of real inputs, and inputs of both kinds together."""
    mixed = lambda t: t.autograd.gradcheck(lambda x, c: (x.sum() * c, x * 2), (point(t), complex_point(t)))  # noqa: E731
    assert assert_agree(mixed).value is True
    lifted = lambda t, **o: t.autograd.gradcheck(lambda x: x * (1 + 2j), point(t), **o)  # noqa: E731
    assert assert_agree(lifted).value is True
    assert assert_agree(lambda t: lifted(t, fast_mode=True, check_forward_ad=True)).value is True


def test_missing_conjugate_is_found_e47() -> None:
    """E-47: a complex gradient without the conjugate fails, and the message says which part was looked at."""

    def program(torch: Any) -> Any:
        wrong = functions.custom(torch, lambda c: c * c, lambda g, c: 2 * c * g)
        return torch.autograd.gradcheck(wrong, complex_point(torch))

    assert_agree(program, phrase="While considering the imaginary part of complex outputs only, Jacobian mismatch")


def test_numerical_side_of_complex_input_e47() -> None:
    """E-47: for real outputs an entry is d/d(real) + i d/d(imaginary): here for |c|^2 it is 2c."""
    module = functions.module(retrograd)
    c = complex_point(retrograd)
    func = lambda c: (c * c.conj()).real  # noqa: E731
    (found,) = module.get_numerical_jacobian_wrt_specific_input(func, 0, (c,), (func(c),), 1e-6)
    np.testing.assert_allclose(found.numpy(), np.diag(2 * np.array(C)), atol=1e-8)


def test_complex_inputs_stay_near_the_point_e47() -> None:
    """E-47: in forward mode too the function is called with complex inputs next to the given ones only."""
    seen: list[Any] = []

    def func(c: Any) -> Any:
        seen.append(np.array(c.detach().numpy()))
        return c * c

    retrograd.autograd.gradcheck(func, complex_point(retrograd), check_forward_ad=True, check_backward_ad=False)
    assert len(seen) > 10
    for found in seen:
        np.testing.assert_allclose(found, C, atol=1e-5)


def test_batches_of_tangents_must_agree_e47() -> None:
    """E-47: check_batched_forward_grad compares a batch of tangents with single ones; a drifting jvp fails it."""
    calls: list[int] = []

    def jvp(t: Any, x: Any) -> Any:
        calls.append(1)
        return 2 * x * t + 1e-3 * len(calls) * t

    drifting = functions.custom(retrograd, lambda x: x**2, lambda g, x: 2 * x * g, jvp)
    options = {"check_forward_ad": True, "atol": 1.0, "check_undefined_grad": False}
    assert retrograd.autograd.gradcheck(drifting, point(retrograd), **options)
    batched = {**options, "check_batched_forward_grad": True}
    found = outcome(lambda t: t.autograd.gradcheck(drifting, point(t), **batched), retrograd)
    assert found.error == "GradcheckError"
    assert "failed while testing batched gradient computation" in found.message


@pytest.mark.parametrize("options", [{"check_backward_ad": False}, {}, {"fast_mode": True}], ids=str)
def test_wrong_tangent_is_found_e47(options: dict[str, bool]) -> None:
    """E-47: a jvp with a wrong factor fails the forward-mode check only."""
    check = lambda t, **o: t.autograd.gradcheck(functions.wrong_tangent(t), point(t), **o)  # noqa: E731
    assert assert_agree(lambda t: check(t)).value is True
    wrong = lambda t: check(t, check_forward_ad=True, **options)  # noqa: E731
    assert_agree(wrong, phrase="Jacobian computed with forward mode mismatch for output 0 with respect to input 0")


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_right_tangents_pass_e47(fast_mode: bool, batched: bool) -> None:
    """E-47: several inputs and outputs pass in forward mode, alone, in batches and with tangents missing."""

    def program(torch: Any) -> Any:
        square = functions.square(torch)
        return torch.autograd.gradcheck(
            lambda x, y, k: (x * y.exp() * k, x.sum(), y.sin() if batched else square(y)),
            (point(torch), point(torch), 3),
            check_forward_ad=True,
            check_batched_forward_grad=batched,
            fast_mode=fast_mode,
        )

    assert assert_agree(program).value is True


def test_missing_tangents_must_count_as_zero_e47() -> None:
    """E-47: a function that treats an input without tangent otherwise than one with zero tangent is caught."""

    class Careless(retrograd.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

        @staticmethod
        def jvp(ctx: Any, tx: Any, ty: Any) -> Any:
            if tx is None or ty is None:
                return (tx if ty is None else ty) * 2
            return tx + ty

    check = lambda t: t.autograd.gradcheck(Careless.apply, (point(t), point(t)), check_forward_ad=True)  # noqa: E731
    found = outcome(check, retrograd)
    assert found.error == "GradcheckError"
    assert "Mismatch in tangent values for output with index" in found.message


@differential
def test_random_numbers_within_batched_tangents(torch):
    """A ``jvp`` that draws random numbers is refused where batches of tangents are checked."""

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            torch.randn_like(t)
            return t * 2

    x = torch.ones(2, dtype=torch.double, requires_grad=True)
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    return raises("random operation", torch.autograd.gradcheck, Noisy.apply, (x,), **options)

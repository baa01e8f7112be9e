"""Values and gradients where numbers are NaN, or fractions that an integer dtype drops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd

real_torch = pytest.importorskip("torch")

NAN = float("nan")
MATRICES = (
    [[NAN, 1.0], [1.0, 1.0]], [[0.0, 0.0], [NAN, 1.0]], [[0.0, NAN], [0.0, 1.0]], [[1.0, NAN], [1.0, 1.0]],
    [[[1.0, 2.0], [3.0, NAN]], [[1.0, 2.0], [3.0, 4.0]]],
)  # fmt: skip


def _determinants(torch: Any, values: Any, dtype: str) -> list[Any]:
    x = torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True)
    sign, log = torch.linalg.slogdet(x)
    d = torch.linalg.det(x)
    (g,) = torch.autograd.grad(d.abs().sum(), x)
    (of_log,) = torch.autograd.grad(log.sum(), x)
    return [t.detach().numpy() for t in (d, sign, log, g, of_log)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_determinant_of_nan_is_nan_and_so_is_its_gradient(dtype: str) -> None:
    for values in MATRICES:
        for ours, theirs in zip(_determinants(retrograd, values, dtype), _determinants(real_torch, values, dtype),
                                strict=True):  # fmt: skip
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("exponent", [0.5, -0.5])
def test_roots_as_powers_keep_the_sign_of_zero(exponent: float) -> None:
    """There is no root of minus infinity."""
    values = [0.0, -0.0, 4.0, float("inf"), float("-inf"), NAN]
    ours, theirs = ((t.tensor(values, dtype=t.float64) ** exponent).numpy() for t in (retrograd, real_torch))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.signbit(ours[:4]), np.signbit(theirs[:4]))


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_integers_are_spaced_between_whole_numbers(name: str) -> None:
    for ends in ((3.6, 0.2, 3), (0.5, 3.9, 4), (-1.5, 2.5, 5), (0.9, 3.9, 3), (-3.9, 0.9, 7), (2.7, 2.9, 1), (0, 1, 0)):
        ours, theirs = (getattr(t, name)(*ends, dtype=t.int64).tolist() for t in (retrograd, real_torch))
        assert ours == theirs, ends


@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_of_a_product_with_two_zeros(create_graph: bool) -> None:
    """It is 0 whatever stands beside them; where a graph is created, NaN and infinity take part."""

    def computed(torch: Any, values: list[float]) -> Any:
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(x.prod(), x, create_graph=create_graph)
        return g.detach().numpy()

    for values in ([0.0, NAN, 0.0, 3.0], [0.0, float("inf"), 1.0, 0.0], [0.0, NAN, 3.0], [0.0, 2.0, 0.0]):
        np.testing.assert_array_equal(computed(retrograd, values), computed(real_torch, values))


SLOPES = {
    "root": lambda torch, x: x**0.5,
    "i1": lambda torch, x: torch.special.i1(x),
    "i1e": lambda torch, x: torch.special.i1e(x),
    "cumprod": lambda torch, x: x.cumprod(0),
    "cumprod backwards": lambda torch, x: x.flip(0).cumprod(0),
    "cumprod of halves": lambda torch, x: x[4:].cumprod(0, dtype=torch.float16),
    "prod of halves": lambda torch, x: x[4:].prod(dtype=torch.float16),
    "prod of floats": lambda torch, x: x[4:].prod(0, dtype=torch.float32),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_at_edges(name: str) -> None:
    """Also next to zeros, at infinity and NaN, and where elements were rounded before they were multiplied."""

    def computed(torch: Any) -> Any:
        values = [2.0, -0.0, NAN, float("-inf"), 0.33, 1.9, -1.7]
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(SLOPES[name](torch, x).sum(), x)
        return g.numpy()

    np.testing.assert_allclose(computed(retrograd), computed(real_torch), rtol=1e-12)


@pytest.mark.parametrize("name", ["eig", "eigh"])
def test_losses_of_the_phase_of_eigenvectors_are_refused(name: str) -> None:
    """Complex eigenvectors are known up to a phase only; a loss of their sizes has a gradient."""

    def told(torch: Any, loss: Any) -> Any:
        x = torch.tensor([[2.0, 1 + 1j, 0.3j], [1 - 1j, 3.0, 0.5], [-0.3j, 0.5, 5.0]], dtype=torch.complex128)
        vectors = getattr(torch.linalg, name)(x.requires_grad_())[1]
        try:
            return torch.autograd.grad(loss(vectors), x)[0].numpy()
        except RuntimeError as refused:
            return str(refused)

    assert told(retrograd, lambda v: v.imag.sum()) == told(real_torch, lambda v: v.imag.sum())
    sizes = [told(torch, lambda v: (v.abs() ** 4).sum()) for torch in (retrograd, real_torch)]
    np.testing.assert_allclose(*sizes, atol=1e-12)


def test_statistics_of_halves_are_halves() -> None:
    """Those of native_batch_norm are wider only beside wider parameters."""
    for parameters in ("float16", "float32"):
        ours, theirs = (
            [t.dtype for t in torch.native_batch_norm(
                torch.arange(12.0).reshape(3, 4).half(), torch.ones(4, dtype=getattr(torch, parameters)),
                torch.zeros(4, dtype=getattr(torch, parameters)), torch.zeros(4, dtype=getattr(torch, parameters)),
                torch.ones(4, dtype=getattr(torch, parameters)), True, 0.1, 1e-5)]
            for torch in (retrograd, real_torch)
        )  # fmt: skip
        assert [str(d).split(".")[1] for d in ours] == [str(d).split(".")[1] for d in theirs]

"""Powers that PyTorch computes by products."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [2, 3, -1, -2, 2.0, 3.0, -2.0])
def test_small_powers_and_their_slopes_are_those_of_pytorch_to_the_bit(dtype: str, exponent: float) -> None:
    """Also at zeros, infinities, NaN and where a product overflows; slopes are other powers, times the exponent.

    That of -2 is of power -3, for which PyTorch has an approximation good to a last place.
    """
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 5e-324]
    values = np.concatenate([np.random.default_rng(3).standard_normal(999), edges]).astype(dtype)
    found = []
    for engine in (retrograd, torch):
        x = engine.tensor(values).requires_grad_()
        y = x**exponent
        (g,) = engine.autograd.grad(y, x, engine.ones_like(y))
        found.append([y.detach().numpy(), g.numpy()])
    (value, slope), (expected, expected_slope) = found
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(slope, expected_slope, rtol=np.finfo(dtype).eps if exponent == -2 else 0, atol=0)


def test_a_cube_is_rounded_as_its_products() -> None:
    """Twice, where NumPy's power is rounded once."""
    x = retrograd.tensor(np.random.default_rng(1).standard_normal(999))
    assert retrograd.equal(x**3, x * x * x)
    assert not np.array_equal((x**3).numpy(), np.power(x.numpy(), 3.0))

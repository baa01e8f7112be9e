"""Random functions: every way to a Jacobian or Hessian agrees with differences and with the others (E-37 to E-41)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd

STEPS: list[Any] = [
    lambda x, y: x * y,
    lambda x, y: x.sin() + y,
    lambda x, y: (x * 0.5).exp(),
    lambda x, y: x - y.tanh(),
    lambda x, y: x.sum() * y,
    lambda x, y: x.reshape(3, 1) @ y.reshape(1, 3) @ x,
    lambda x, y: x[[2, 0, 1]] * y,
    lambda x, y: x.view(3, 1).expand(3, 2).sum(1),
    lambda x, y: x.clone().mul_(y),
]


def random_function(seed: int) -> Any:
    """A chain of five random steps from two vectors of three numbers to one."""
    choice = np.random.default_rng(seed).integers(len(STEPS), size=5)

    def func(x: Any, y: Any) -> Any:
        for step in choice:
            x, y = STEPS[step](x, y), x
        return x

    return func


def at_point(seed: int) -> tuple[Any, Any, Any]:
    """Two inputs and a vector."""
    rng = np.random.default_rng(1000 + seed)
    x, y, v = (retrograd.tensor(rng.uniform(-1, 1, size=3)) for _ in range(3))
    return x, y, v


def close(found: Any, wanted: Any) -> None:
    """The same numbers, whatever the kind of array."""
    np.testing.assert_allclose(np.asarray(found.detach().numpy()), np.asarray(wanted), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_jacobians_agree_e37_e39_e40(seed: int) -> None:
    """E-37, E-39, E-40: rows, batch and columns give one Jacobian, which the products and differences confirm."""
    functional = retrograd.autograd.functional
    func, (x, y, v) = random_function(seed), at_point(seed)
    by_x, by_y = functional.jacobian(func, (x, y))
    for options in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        for found, wanted in zip(functional.jacobian(func, (x, y), **options), (by_x, by_y), strict=True):
            close(found, wanted.numpy())
    close(functional.vjp(func, (x, y), v)[1][0], v.numpy() @ by_x.numpy())
    close(functional.jvp(func, (x, y), (v, v))[1], by_x.numpy() @ v.numpy() + by_y.numpy() @ v.numpy())
    eps = 1e-6
    steps = [retrograd.tensor(row) for row in np.eye(3) * eps]
    columns = [(func(x + step, y) - func(x - step, y)).numpy() / (2 * eps) for step in steps]
    scale = max(1.0, float(np.abs(by_x.numpy()).max()))
    np.testing.assert_allclose(np.stack(columns, axis=1), by_x.numpy(), rtol=1e-5, atol=1e-7 * scale)


@pytest.mark.parametrize("seed", range(10))
def test_hessians_agree_e38_e41(seed: int) -> None:
    """E-38, E-41: three ways to the Hessian agree, it is symmetric, and vhp and hvp are its products with v."""
    functional = retrograd.autograd.functional
    chain, (x, y, v) = random_function(seed), at_point(seed)

    def func(x: Any) -> Any:
        return chain(x, y).sum()

    hessian = functional.hessian(func, x)
    close(hessian, hessian.numpy().T)
    close(functional.hessian(func, x, vectorize=True), hessian.numpy())
    close(functional.hessian(func, x, vectorize=True, outer_jacobian_strategy="forward-mode"), hessian.numpy())
    close(functional.vhp(func, x, v)[1], hessian.numpy() @ v.numpy())
    close(functional.hvp(func, x, v)[1], hessian.numpy() @ v.numpy())

"""Halves beside Python numbers: computed in single precision with the number as it is, rounded once, as in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")

VALUES = [*np.linspace(-3, 3, 41).tolist(), 0.0, 1e3, 6e4, 6e-8]
NUMBERS = (1e5, 70000, 0.1, -1 / 3, 3, 1e-8)
CALLS = {
    "mul": lambda t, x, n: x * n, "left": lambda t, x, n: n * x, "div": lambda t, x, n: x / n,
    "divided": lambda t, x, n: n / x, "function": lambda t, x, n: t.true_divide(x, n),
    "mul_": lambda t, x, n: (x * 1).mul_(n), "div_": lambda t, x, n: (x * 1).div_(n),
    "out": lambda t, x, n: t.div(x.detach(), n, out=t.empty_like(x)), "add": lambda t, x, n: x + n,
    "sub": lambda t, x, n: n - x, "compared": lambda t, x, n: x > n,
    "leaky": lambda t, x, n: t.nn.functional.leaky_relu(x, n),
    "watched": lambda t, x, n: (x / n).sum(),
}  # fmt: skip


def _seen(t, name, number, hooked=False):
    x = t.tensor(VALUES, dtype=t.float16, requires_grad=True)
    result = CALLS[name](t, x, number)
    found = [str(result.dtype), result.detach().numpy()]
    if result.requires_grad:
        if hooked:
            result.register_hook(lambda g: g * 1)
        found.append(t.autograd.grad(result.sum(), x)[0].numpy())
    return found


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_not_rounded_first(name):
    """Row E-27: values and gradients to the bit, where the number itself is too large, too small or no half."""
    for number in NUMBERS:
        for hooked in (False, True):
            ours, theirs = (_seen(t, name, number, hooked) for t in (rg, torch))
            assert ours[0].rpartition(".")[2] == theirs[0].rpartition(".")[2]
            for mine, wanted in zip(ours[1:], theirs[1:], strict=True):
                np.testing.assert_array_equal(mine, wanted, err_msg=f"{name} {number}")


FUSED = {
    "lerp": lambda t, x, n: t.lerp(x, x * 2, n), "addcmul": lambda t, x, n: t.addcmul(x, x, x, value=n),
    "addcdiv": lambda t, x, n: t.addcdiv(x, x, x + 5, value=n), "elu": lambda t, x, n: t.nn.functional.elu(x, n),
    "alpha": lambda t, x, n: t.add(x, x * 0.3, alpha=n),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_what_one_kernel_computes_is_rounded_once(name):
    """Row E-27: but for the last digit, as PyTorch's own kernels differ among themselves."""
    for number in (0.1, 1 / 3, 2.5):
        ours, theirs = (FUSED[name](t, t.tensor(VALUES[:32]).half(), number).numpy() for t in (rg, torch))
        np.testing.assert_array_max_ulp(ours, theirs, 1)
        assert (ours != theirs).mean() < 0.05


def test_second_gradients_of_halves():
    """Row E-27: rules that run on tensors take the number as it is, too."""

    def seen(t):
        x = t.tensor([1.0, 2.0, 300.0], dtype=t.float16, requires_grad=True)
        (g,) = t.autograd.grad((x * x / 1e5).sum(), x, create_graph=True)
        return g.tolist(), t.autograd.grad((g * 3e4).sum(), x)[0].tolist()

    assert seen(rg) == seen(torch)

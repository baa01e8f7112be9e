"""Halves beside Python numbers: computed in single precision with the number as it is, rounded once, as in PyTorch."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from both_engines import differential

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


N = "nn.functional."
KERNELS = {
    **{name: lambda t, x, f: f(x) for name in ("sigmoid", "tanh", N + "silu", N + "mish", N + "hardswish")},
    N + "logsigmoid": lambda t, x, f: f(x), N + "softmax": lambda t, x, f: f(x, -1), "pow": lambda t, x, f: f(3, x),
    N + "elu": lambda t, x, f: f(x, 1 / 3), N + "celu": lambda t, x, f: f(x, 3),
    N + "softplus": lambda t, x, f: f(x, 3), N + "rrelu": lambda t, x, f: f(x, 0.1, 0.1),
    "addcmul": lambda t, x, f: f(x, x, x, value=1 / 3), "div": lambda t, x, f: f(x, 1 / 3, rounding_mode="floor"),
    N + "huber_loss": lambda t, x, f: f(x, -x, delta=0.1, reduction="none"), "var": lambda t, x, f: f(x.view(4, 8), 1),
    N + "smooth_l1_loss": lambda t, x, f: f(x, x.flip(0), beta=3.0, reduction="none"),
    "std": lambda t, x, f: f(x.view(4, 8), 1, correction=0),
    "addmm": lambda t, x, f: f(t.ones(4, 4).half(), x.view(4, 8), x.view(8, 4), beta=0.1, alpha=1 / 3),
    "baddbmm": lambda t, x, f: f(t.ones(1, 4, 4).half(), x.view(1, 4, 8), x.view(1, 8, 4), beta=0.1, alpha=1 / 3),
}  # fmt: skip


def _kernel_run(t, name, create_graph):
    x = t.tensor(VALUES[:32], dtype=t.float16, requires_grad=True)
    result = KERNELS[name](t, x, functools.reduce(getattr, name.split("."), t))
    (slope,) = t.autograd.grad(result.sum(), x, create_graph=create_graph)
    return result.detach().numpy(), slope.detach().numpy()


@pytest.mark.parametrize("name", KERNELS)
def test_values_and_slopes_of_one_kernel(name):
    """Row E-27: both are rounded once, recorded or not; the last digit differs in few, as exponentials do."""
    theirs = _kernel_run(torch, name, False)
    for create_graph in (False, True):
        for ours, wanted in zip(_kernel_run(rg, name, create_graph), theirs, strict=True):
            assert ours.dtype == wanted.dtype
            assert (ours != wanted).mean() <= 0.25
            np.testing.assert_allclose(ours, wanted, 2e-3, 1e-4)


LARGE = (1e5, -70000, 1e39, float("inf"), 3)
REFUSING = {
    "pow": lambda t, x, n: x**n, "clamp": lambda t, x, n: x.clamp(max=n), "clamp_": lambda t, x, n: x.clamp_(-n, n),
    "logit": lambda t, x, n: t.logit(x, n), "index_fill": lambda t, x, n: x.index_fill(0, t.tensor([0]), n),
    "hardtanh": lambda t, x, n: t.nn.functional.hardtanh(x, -abs(n), abs(n)),
    "threshold": lambda t, x, n: t.nn.functional.threshold(x, 0, n),
    **{name: lambda t, x, n, name=name: getattr(t.nn.functional, name)(x, n)
       for name in ("elu", "celu", "hardshrink", "softshrink", "softplus", "leaky_relu")},
    "addmm": lambda t, x, n: t.addmm(x, x.outer(x), x.outer(x), alpha=n),
    "addmv": lambda t, x, n: t.addmv(x, x.outer(x), x, beta=n),
    "addr": lambda t, x, n: t.addr(x, x, x, alpha=n), "scatter": lambda t, x, n: x.scatter(0, t.tensor([0]), n),
}  # fmt: skip


def _said(t, name, dtype, number):
    try:
        REFUSING[name](t, t.tensor([0.5, 2.0], dtype=getattr(t, dtype)), number)
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", REFUSING)
def test_numbers_that_are_too_large_are_refused(name):
    """Row E-27: where PyTorch's kernel takes the number in the dtype it computes in, in the same words."""
    said = {(dtype, n): [_said(t, name, dtype, n) for t in (torch, rg)]
            for dtype in ("float16", "float32", "float64") for n in LARGE}  # fmt: skip
    assert any(theirs for theirs, _ in said.values())
    assert {case: both for case, both in said.items() if both[0] != both[1]} == {}


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


WRITTEN = (1e6, -1e5, 70000, 1e300, float("inf"), float("nan"), True, 2, np.float64(1e6))


def _written(t, dtype, place, number):
    x = t.ones(2, 2, dtype=getattr(t, dtype))
    try:
        x[place(t)] = number
    except (RuntimeError, ValueError) as error:
        return type(error)
    return x.tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_numbers_written_by_index(dtype):
    """Row E-27: halves take numbers that are too large as infinities, in silence; other dtypes refuse them."""
    places = (lambda t: 0, lambda t: (0, 1), lambda t: ..., lambda t: t.tensor([0]), lambda t: t.ones(2, 2) > 0)
    for place in places:
        for number in WRITTEN:
            found, expected = (_written(t, dtype, place, number) for t in (rg, torch))
            assert str(found) == str(expected), (number, found)


PRODUCTS = {
    "addmm": lambda t, a, b, c: t.addmm(a, b, c),
    "baddbmm": lambda t, a, b, c: t.baddbmm(a[None], b[None], c[None]),
    "addbmm": lambda t, a, b, c: t.addbmm(a, b[None], c[None]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_mixed_dtypes_are_refused(name):
    """Row E-27: matrices of another dtype beside halves are refused, though halves are computed in single precision."""
    for mixed in range(1, 7):
        for t in (rg, torch):
            dtypes = [t.float16 if mixed >> i & 1 else t.float32 for i in range(3)]
            with pytest.raises(RuntimeError):
                PRODUCTS[name](t, *[t.ones(2, 2, dtype=dtype) for dtype in dtypes])


def test_numbers_that_become_infinities_are_taken_in_silence():
    """Row E-27: tensors are made of numbers beyond their dtype without a warning of NumPy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in (rg, torch):
            assert t.tensor([1e6, 1.0], dtype=t.float16).tolist() == [float("inf"), 1.0]
            assert t.tensor(-1e300).item() == float("-inf")


@differential
def test_rounded_quotients_and_products_of_lists(torch):
    """Quotients by one number are rounded once and others at each step; ``_foreach_mul_`` rounds its number first."""
    x, y = torch.linspace(-9, 9, 300), torch.linspace(0.02, 5, 300)
    found = []
    for dtype in (torch.float16, torch.bfloat16):
        a, b = x.to(dtype), y.to(dtype)
        one = torch.tensor(0.1)
        for divisor in (0.1, one, one.double(), one.to(dtype), one.to(dtype).view(1), torch.tensor(3), b):
            found += [torch.div(a, divisor, rounding_mode=mode) for mode in ("floor", "trunc")]
            found += [a // divisor, a.clone().floor_divide_(divisor), a.clone().div_(divisor, rounding_mode="trunc")]
        found += [torch.div(torch.tensor(7.0), b, rounding_mode=mode) for mode in ("floor", "trunc")]
        lists = [a.clone(), b.clone()]
        torch._foreach_mul_(lists, 0.3)
        torch._foreach_mul_(lists, [1.7, 0.1])
        found += [*lists, *torch._foreach_mul(lists, 0.3), *torch._foreach_add(lists, 0.3)]
        found += [2 // b, a // 0, a**3, b**-2]
    return [(t.dtype, t.float()) for t in found]

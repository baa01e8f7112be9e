"""Python numbers that no dtype holds, or not the one they meet: PyTorch's errors, by class and words."""

from __future__ import annotations

import operator

import pytest

import retrograd as rg

torch = pytest.importorskip("torch")

INTEGERS = (2**70, -(2**70), 2**64, -(2**63) - 1)
TAKING = {
    "add": operator.add, "radd": lambda x, n: n + x, "rsub": lambda x, n: n - x, "mul": operator.mul,
    "truediv": operator.truediv, "rtruediv": lambda x, n: n / x, "eq": operator.eq, "lt": operator.lt,
    "pow": operator.pow, "floordiv": operator.floordiv, "add_": lambda x, n: x.add_(n), "mul_": lambda x, n: x.mul_(n),
    "fill_": lambda x, n: x.fill_(n), "masked_fill": lambda x, n: x.masked_fill(x == 1, n), "iadd": operator.iadd,
    "clamp": lambda x, n: x.clamp(max=n), "new_full": lambda x, n: x.new_full((2,), n),
    "remainder": lambda x, n: x.remainder(n), "setitem": lambda x, n: operator.setitem(x, 0, n),
    "setitems": lambda x, n: operator.setitem(x, slice(None), n), "addcmul": lambda x, n: x.addcmul(x, x, value=n),
    "alpha": lambda x, n: x.add(x, alpha=n), "ge_": lambda x, n: x.ge_(n),
}  # fmt: skip


def _said(call, *args):
    try:
        result = call(*args)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    return str(result.dtype).rpartition(".")[2], result.tolist()


@pytest.mark.parametrize("name", TAKING)
def test_integers_of_more_than_64_bits_are_refused(name):
    """Row E-27: in every place of a number, on a first call and on later ones, of each kind of dtype."""
    for dtype in ("float32", "float16", "int64", "uint8", "bool", "complex64"):
        for number in INTEGERS:
            ours, theirs = (_said(TAKING[name], t.ones(3, dtype=getattr(t, dtype)), number) for t in (rg, torch))
            assert ours == theirs, (dtype, number)


MADE = {
    "mixed signs": lambda t: t.tensor([2**63, -1]), "one": lambda t: t.tensor([2**63]),
    "fractions, too": lambda t: t.tensor([2**63, -0.5]), "complex": lambda t: t.tensor([1j], dtype=t.float32),
    "complex alone": lambda t: t.tensor(1j, dtype=t.float64),
    "complex integer": lambda t: t.tensor([1, 1j], dtype=t.int64),
    "truth": lambda t: t.tensor([1j, 0j], dtype=t.bool), "in bounds": lambda t: t.tensor([2**63 - 1, -(2**63)]),
    "nested": lambda t: t.tensor([[1, -1], [2**64 - 1, 0]]),
    "padded": lambda t: t.nn.functional.pad(t.ones(1), (1, 0), value=2**70),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_numbers_that_make_a_tensor(name):
    """Row E-27: NumPy would make floats of integers with and without signs, and drop imaginary parts."""
    assert _said(MADE[name], rg) == _said(MADE[name], torch)


BEYOND = {
    "clamp_min": lambda x, n: x.clamp_min(n), "clamp_max": lambda x, n: x.clamp_max(-n),
    "alpha": lambda x, n: x.add(1, alpha=n),
    "where": lambda x, n: x.where(x == 1, n), "clamp": lambda x, n: x.clamp(min=n),
}  # fmt: skip


@pytest.mark.parametrize("name", BEYOND)
def test_numbers_beyond_a_floating_dtype(name):
    """Row E-27: some functions refuse what others make infinite."""
    for dtype, number in (("float32", 1e39), ("float16", 1e39), ("float64", 1e300), ("complex64", 1.0)):
        if (name, dtype) != ("alpha", "float16") and not (dtype == "complex64" and "clamp" in name):
            ours, theirs = (_said(BEYOND[name], t.ones(2, dtype=getattr(t, dtype)), number) for t in (rg, torch))
            assert ours == theirs, (dtype, number)
    for t in (rg, torch):
        assert _said(t.where, t.tensor([True]), 1e39, 1.0)[1].startswith("value cannot be converted to type float")


def test_dtypes_of_numbers_alone():
    """``result_type`` takes two numbers, also by their names in PyTorch's overloads."""
    for t in (rg, torch):
        found = [
            t.result_type(1, 2.0),
            t.result_type(True, 1j),
            t.result_type(scalar1=2, scalar2=True),
            t.result_type(scalar=2, tensor=t.ones(1)),
        ]
        assert found == [t.float32, t.complex64, t.int64, t.float32]


def test_ranges_beyond_halves_end_in_infinity():
    """Row E-27: as in PyTorch, and without a warning of NumPy's, which the tests would raise."""
    for t in (rg, torch):
        half = {"dtype": t.float16}
        assert t.logspace(0, 6, 3, **half).tolist() == [1, 1000, float("inf")]
        assert t.scalar_tensor(1e6, **half).item() == t.arange(0, 2e5, 1e5, **half)[1].item() == float("inf")

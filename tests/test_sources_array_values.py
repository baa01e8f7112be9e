"""Figures of arrays are those that NumPy works out one by one, whatever the size, dtype and layout."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retrograd.inspect.sources import array_values

SIZES = [1, 31, 33, 640, 4095, 4096, 4097, 65_536, 65_537, 200_000]


def arrays(size: int) -> dict[str, np.ndarray]:
    """Arrays of one size and many kinds."""
    r = np.random.default_rng(size)
    plain = r.standard_normal(size)
    holes = np.where(r.random(size) < 0.3, 0.0, plain) * r.choice([1.0, -1.0], size)  # with zeros of both signs
    broken = plain.copy()
    broken[size // 2] = np.nan
    endless = plain.copy()
    endless[-1] = -np.inf
    doubles = {"plain": plain, "holes": holes, "nan": broken, "inf": endless, "positive": np.abs(plain) + 1}
    doubles |= {"large": plain * 1e25, "tiny": plain * 1e-25, "zero": np.zeros(size), "negative zero": -np.zeros(size)}
    found = {f"{name} {kind}": a.astype(kind) for name, a in doubles.items() for kind in ("float32", "float64")}
    found["half"] = plain.astype("float16")
    found["strided"] = np.repeat(plain.astype("float32"), 2)[::2]
    found["transposed"] = plain.astype("float32").reshape(1, -1).T
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.filterwarnings("ignore")
def test_figures_of_gradients(size: int) -> None:
    for name, a in arrays(size).items():
        norm, low, high, mean, zero, nan, inf = array_values.gradient_figures(a)
        wide = a.astype(np.float64).ravel()
        finite = wide[np.isfinite(wide)]

        assert (nan, inf) == (np.isnan(wide).sum(), np.isinf(wide).sum()), name
        assert zero == np.count_nonzero(wide == 0) / size, name
        if len(finite):
            assert (low, high) == (finite.min(), finite.max()), name
            assert mean == pytest.approx(finite.mean(), rel=1e-4, abs=1e-6 * np.abs(finite).max()), name
        if nan or inf:
            assert not math.isfinite(norm), name
        else:
            assert norm == pytest.approx(math.sqrt((wide**2).sum()), rel=1e-5), name


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.filterwarnings("ignore")
def test_ranges_of_results(size: int) -> None:
    for name, a in arrays(size).items():
        limits, total = array_values.range_and_sum(a)
        wide = a.astype(np.float64)

        np.testing.assert_equal(limits, [wide.min(), wide.max()], err_msg=name)
        np.testing.assert_allclose(total, wide.sum(), rtol=1e-4, atol=1e-6 * np.abs(wide).sum(), err_msg=name)


@pytest.mark.parametrize("shape", [(3, 700), (700, 3), (3, 700, 4), (2, 5, 3, 40)])
@pytest.mark.filterwarnings("ignore")
def test_expanded_arrays_are_as_their_copies(shape: tuple[int, ...]) -> None:
    """Whichever dimensions repeat entries."""
    r = np.random.default_rng(len(shape))
    for pattern in np.ndindex(*(2,) * len(shape)):
        made = r.integers(-2, 3, [length if kept else 1 for length, kept in zip(shape, pattern, strict=True)])
        for kind, bad in ((np.float32, 0.0), (np.float64, np.nan), (np.float16, -np.inf)):
            entries = made.astype(kind)
            entries[entries == 2] += kind(bad)
            expanded = np.broadcast_to(entries, shape)
            copy = expanded.copy()
            assert repr(array_values.range_and_sum(expanded)) == repr(array_values.range_and_sum(copy))
            assert repr(array_values.value_range(expanded)) == repr(array_values.value_range(copy))
            assert array_values.summary(expanded) == array_values.summary(copy)


def test_expanded_arrays_are_read_once() -> None:
    """A million million entries of which two are different take no time and no memory."""
    expanded = np.broadcast_to(np.array([[1.0], [-math.inf]], np.float32), (2, 10**12))
    assert array_values.range_and_sum(expanded) == ((-math.inf, 1.0), -math.inf)
    assert array_values.value_range(expanded) == [-math.inf, 1.0]
    found = array_values.summary(expanded)
    assert (found["size"], found["inf"], found["first_bad"], found["bad_rows"]) == (2 * 10**12, 10**12, [1, 0], [1])

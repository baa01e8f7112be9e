"""Kernels that have a quick form for common sizes: both forms agree with PyTorch, also on infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.engine.kernels import convolving, separable

torch = pytest.importorskip("torch")


def gradients(engine: Any, program: Any, arrays: list[Any], seed: Any) -> list[Any]:
    """Result and gradients of ``program(engine, *leaves)`` for a gradient of the result."""
    leaves = [engine.from_numpy(a.copy()).requires_grad_() for a in arrays]
    out = program(engine, *leaves)
    out.backward(engine.from_numpy(seed(tuple(out.shape))))
    return [out.detach().numpy(), *[x.grad.numpy() for x in leaves]]


def agree(program: Any, arrays: list[Any], seed: Any) -> None:
    with np.errstate(all="ignore"):
        ours, theirs = (gradients(engine, program, arrays, seed) for engine in (retrograd, torch))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("shape", "kernel", "how"),
    [
        ((2, 3, 9), (4, 3, 3), {"padding": 1}),
        ((2, 4, 8, 9), (6, 2, 3, 3), {"padding": 1, "groups": 2}),
        ((2, 4, 8, 9), (4, 1, 3, 2), {"padding": (0, 1), "groups": 4}),
        ((1, 2, 12, 13), (3, 2, 3, 3), {"padding": 2, "dilation": 2}),
        ((1, 2, 8, 9), (3, 2, 3, 3), {"stride": 2}),
        ((1, 2, 8, 8), (3, 2, 7, 7), {}),  # few windows in a long row
        ((1, 2, 5, 6, 7), (3, 2, 2, 2, 2), {"padding": 1}),
        ((0, 2, 8, 9), (3, 2, 3, 3), {}),
        ((2, 3, 3, 3), (5, 3, 1, 1), {"padding": 1, "stride": 2}),  # as many windows as places, but others
        ((2, 2, 8, 9), (3, 2, 2, 2), {"padding": 3}),  # windows that see only padding
        ((2, 1, 5, 6), (6, 1, 3, 3), {"padding": 1}),  # many more channels behind than before
    ],
)
@pytest.mark.parametrize("block", [1 << 19, 4000, 1])
def test_convolution_and_its_transposes(shape: Any, kernel: Any, how: Any, block: int, monkeypatch: Any) -> None:
    """All images in one block, a few in each, and an image in many."""
    monkeypatch.setattr(convolving, "BLOCK", block)
    monkeypatch.setattr(convolving, "_FEWEST", 256 if block > 4000 else 1)
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(shape), rng.standard_normal(kernel)]
    name = f"conv{len(shape) - 2}d"

    def program(engine: Any, x: Any, w: Any) -> Any:
        return getattr(engine.nn.functional, name)(x, w, **how)

    agree(program, arrays, lambda s: np.random.default_rng(2).standard_normal(s))


@pytest.mark.parametrize(
    "how",
    [
        {"dilation": 2, "output_padding": 1},  # places behind the last window, though windows are one step apart
        {"dilation": 3, "output_padding": 2, "padding": 1},
        {"stride": 2, "padding": 2, "output_padding": 1},
        {"stride": 3, "groups": 2},  # windows lie apart
    ],
)
def test_transposed_convolution_and_its_transposes(how: Any) -> None:
    rng = np.random.default_rng(4)
    arrays = [rng.standard_normal((2, 4, 5, 6)), rng.standard_normal((4, 3, 3, 2))]

    def program(engine: Any, x: Any, w: Any) -> Any:
        return engine.nn.functional.conv_transpose2d(x, w, **how)

    agree(program, arrays, lambda s: np.random.default_rng(2).standard_normal(s))


def test_a_transposed_convolution_of_no_size_is_refused() -> None:
    for engine in (retrograd, torch):
        x, weight = engine.ones(1, 1, 2, 3), engine.ones(1, 1, 1, 1)
        with pytest.raises(RuntimeError, match=r"\(2 x 3\)\. Calculated output size per channel: \(0 x 1\)"):
            engine.nn.functional.conv_transpose2d(x, weight, padding=1)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest", "area"])
@pytest.mark.parametrize("cells", [1 << 19, 0])
def test_interpolation_with_and_without_products(mode: str, cells: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(separable, "_MOST_CELLS", cells)
    x = np.random.default_rng(3).standard_normal((2, 2, 5, 7))

    def program(engine: Any, x: Any) -> Any:
        return engine.nn.functional.interpolate(x, size=(9, 4), mode=mode)

    agree(program, [x], lambda s: np.random.default_rng(4).standard_normal(s))


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_infinite_values_stay_where_they_are(mode: str, bad: float) -> None:
    x = np.random.default_rng(5).standard_normal((1, 1, 6, 6))
    x[0, 0, 2, 3] = bad

    def program(engine: Any, x: Any) -> Any:
        return engine.nn.functional.interpolate(x, scale_factor=2.0, mode=mode)

    def seed(shape: Any) -> Any:
        g = np.random.default_rng(6).standard_normal(shape)
        g[0, 0, 3, 5] = bad
        return g

    agree(program, [x], seed)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (64, 256), (3, 8192), (8191,), (8193,), (129, 200)])
def test_relu(shape: Any, dtype: str) -> None:
    """Small and large, contiguous or not, with NaN, infinities and zeros of both signs."""
    x = np.resize(np.array([1.5, -2, np.nan, 0, -0.0, np.inf, -np.inf, 3], dtype), shape)
    g = np.resize(np.array([1, np.inf, np.nan, 2, -1, 0.5, np.nan, -np.inf, 4], dtype), shape)
    for turned in (False, True):
        results = []
        for engine in (retrograd, torch):
            leaf = engine.from_numpy(x.copy()).requires_grad_()
            out = engine.relu(leaf.t() if turned and len(shape) == 2 else leaf)
            out.backward(engine.from_numpy(g.T.copy() if turned and len(shape) == 2 else g))
            results.append((out.detach().numpy(), leaf.grad.numpy()))
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def test_saved_weight_of_the_rows_that_count() -> None:
    """``_saved_total_weight`` of nll_loss, by reduction, with ignored rows and weights."""
    for reduction in ("mean", "sum", "none"):
        for weight in (None, [0.5, 1.0, 2.0, 4.0]):
            found = []
            for engine in (retrograd, torch):
                x = engine.ones(3, 4, requires_grad=True)
                rows = None if weight is None else engine.tensor(weight)
                target = engine.tensor([0, -100, 3])
                loss = engine.nn.functional.nll_loss(x, target, weight=rows, reduction=reduction)
                found.append(loss.grad_fn._saved_total_weight)
            assert str(found[0]) == str(found[1])


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (0, 3), (3, 0), (64, 10), (7, 33), (3, 1025)])
@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf])
def test_sums_and_maxima_of_rows(shape: Any, bad: Any) -> None:
    """Sums over rows and columns, and what softmax makes of narrow and wide rows, where one entry may not be finite."""
    x = np.random.default_rng(3).standard_normal(shape).astype("f4") * 3
    if bad is not None and x.size:
        x[shape[0] // 2, shape[1] // 2] = bad
    for turned in (False, True):
        for how in ("sum", "kept sum", "softmax", "log_softmax"):
            found = []
            for engine in (retrograd, torch):
                leaf = engine.from_numpy(x.copy()).requires_grad_()
                t = leaf.t() if turned else leaf
                out = t.sum(0, keepdim=how != "sum") if "sum" in how else getattr(engine, how)(t, 1)
                out.backward(engine.ones_like(out) * 0.5)
                found.append((out.detach().numpy(), leaf.grad.numpy()))
            for ours, theirs in zip(*found, strict=True):
                assert ours.shape == theirs.shape
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("dtype", "target"), [("f4", "int64"), ("f8", "uint8")])
def test_losses_of_rows(reduction: str, dtype: str, target: str) -> None:
    """Few, many and no rows, by rows or columns in memory; a loss of nothing is no negative zero."""
    random = np.random.default_rng(5)
    for rows, columns in ((0, 3), (1, 1), (7, 3), (1025, 4)):
        x = np.log(random.dirichlet(np.ones(columns), rows).astype(dtype)) * (columns > 1)
        classes = random.integers(0, columns, rows).astype(target)
        for turned in (False, True):
            found = []
            for engine in (retrograd, torch):
                leaf = engine.from_numpy(x.T.copy() if turned else x.copy()).requires_grad_()
                logs = leaf.t() if turned else leaf
                loss = engine.nn.functional.nll_loss(logs, engine.from_numpy(classes), reduction=reduction)
                loss.backward(engine.full_like(loss, 0.7))
                found.append((loss.detach().numpy(), leaf.grad.numpy()))
            for ours, theirs in zip(*found, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-5 if dtype == "f4" else 1e-12)
            if reduction == "sum":
                assert np.signbit(found[0][0]) == np.signbit(found[1][0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int32", "bool", "complex64"])
def test_sums_of_everything(dtype: str) -> None:
    """Large and small, rows of any width, not contiguous, with an infinity; value and dtype are PyTorch's."""
    for shape in ((3,), (2000,), (40, 500), (300, 70), (5000, 4), (30, 30, 30), (20, 2000), (0, 40)):
        x = (np.random.default_rng(4).random(shape) * 4).astype(dtype)
        for turned in (False, True):
            ours, theirs = (engine.from_numpy(x.T if turned else x).sum() for engine in (retrograd, torch))
            assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-2 if dtype == "float16" else 1e-5)
    x = np.ones((300, 70), "f4")
    x[7, 3] = np.inf
    assert retrograd.from_numpy(x).sum() == np.inf


@pytest.mark.parametrize("wrong", [-1, 4, -(2**63), 2**63 - 1])
def test_targets_out_of_bounds(wrong: int) -> None:
    """A class that is not there is an IndexError, however large."""
    x = retrograd.zeros(3, 4, requires_grad=True)
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
        retrograd.nn.functional.cross_entropy(x, retrograd.tensor([0, wrong, 1]))


@pytest.mark.parametrize("size", [32_769, 131_072, 131_073, 300_000])
@pytest.mark.parametrize(("dtype", "alpha"), [("float32", 0.1), ("float64", -3), ("float16", 0.5), ("complex64", 0.25)])
def test_large_steps_of_descent(size: int, dtype: str, alpha: Any) -> None:
    """``sub_`` and ``add_`` with a factor go over large arrays piece by piece, also when the last piece is short."""
    rng = np.random.default_rng(3)
    near = 1e-3 if dtype == "float16" else 1e-6
    for shape in ((size,), (1, size), (size // 100, 100), (size // 3, 3)):
        start, slope = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
        for turned in (False, True):
            found = []
            for engine in (retrograd, torch):
                t, g = engine.from_numpy(start.copy()), engine.from_numpy(slope.T.copy() if turned else slope)
                g = g.t() if turned and g.ndim == 2 else g
                found.append(t.sub_(g, alpha=alpha).add_(g, alpha=2 * alpha).numpy())
            np.testing.assert_allclose(*found, rtol=near, atol=near)


def test_large_steps_along_numbers_and_whole_numbers() -> None:
    """A fraction of whole numbers is not rounded to a whole number first; one number or row is for all."""
    for other in (lambda e: e.arange(90_000).reshape(300, 300), lambda e: 3, lambda e: e.arange(300.0)):
        found = [e.zeros(300, 300).add_(other(e), alpha=0.25).numpy() for e in (retrograd, torch)]
        np.testing.assert_array_equal(*found)

"""Gradients of functions that let some elements through: where none goes, an infinity or NaN does not either."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")

FUNCTIONS: dict[str, Any] = {
    **{
        name: lambda engine, x, name=name: getattr(engine.nn.functional, name)(x)
        for name in ("relu", "relu6", "hardtanh", "hardsigmoid", "softshrink", "hardshrink")
    },
    "threshold": lambda engine, x: engine.nn.functional.threshold(x, 0.5, 1.0),
    "sqrt of relu": lambda engine, x: engine.relu(x).sqrt(),
    "clamp": lambda engine, x: x.clamp(-1, 1),
    "where": lambda engine, x: engine.where(x > 0, x, 2 * x),
    "other of where": lambda engine, x: engine.where(x > 0, engine.zeros_like(x), x),
    "masked_fill": lambda engine, x: x.masked_fill(x > 0, 0.0),
    "maximum": lambda engine, x: engine.maximum(x, x.flip(1)),
    "fmax": lambda engine, x: engine.fmax(x, x.flip(1)),
    "max": lambda engine, x: x.max(),
    "nan_to_num": lambda engine, x: (x / x.detach().relu()).nan_to_num(1.0, 2.0),
    "max pool": lambda engine, x: engine.nn.functional.max_pool1d(x, 2),
    "overlapping max pool": lambda engine, x: engine.nn.functional.max_pool1d(x, 3, 1, 1),
    "ignored targets": lambda engine, x: engine.nn.functional.nll_loss(
        x, engine.tensor([1, -100]), reduction="none"
    ),
}  # fmt: skip
VALUES = np.array([[-3.0, -1, -0.5, 0, 0.5, 1, 3, 7, 2, -2], [1.0, 5, -7, 0.25, -0.25, 0, 0, 4, -6, 6]])


def gradient(engine: Any, function: Any, dtype: str, seed: float) -> Any:
    x = engine.from_numpy(VALUES.astype(dtype)).requires_grad_()
    out = function(engine, x)
    out.backward(engine.full_like(out, seed))
    return x.grad.numpy()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nothing_goes_through_a_mask(name: str, dtype: str) -> None:
    for seed in (1.0, math.inf, -math.inf, math.nan):
        ours, theirs = (gradient(engine, FUNCTIONS[name], dtype, seed) for engine in (retrograd, torch))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_an_ignored_row_may_hold_an_infinity() -> None:
    for engine in (retrograd, torch):
        logits = engine.tensor([[0.0, 1.0], [-math.inf, 0.0]], requires_grad=True)
        loss = engine.nn.functional.cross_entropy(logits, engine.tensor([1, -100]))
        loss.backward()

        assert loss.item() == pytest.approx(math.log1p(math.exp(-1)))
        assert logits.grad[0].tolist() == pytest.approx([0.26894143, -0.26894143])


def test_conditions_are_boolean() -> None:
    for engine in (retrograd, torch):
        x = engine.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with pytest.raises(RuntimeError, match="where expected condition to be a boolean tensor"):
            engine.where(engine.tensor([0.0, 1.0, 2.0]), x, x)
        with pytest.warns(UserWarning, match="uint8 condition tensor"):
            engine.where(engine.tensor([0, 2, 1], dtype=engine.uint8), x, 2 * x).sum().backward()

        assert x.grad.tolist() == [2, 1, 1]


@pytest.mark.parametrize("value", [-math.inf, math.nan, math.inf])
def test_windows_of_nothing_but_one_value_win_inside_the_image(value: float) -> None:
    for how in ({"kernel_size": 3, "stride": 1, "padding": 1}, {"kernel_size": 3, "stride": 2, "padding": 1}):
        found = []
        for engine in (retrograd, torch):
            x = engine.full((1, 1, 5, 5), value, dtype=engine.float64).requires_grad_()
            out, places = engine.nn.functional.max_pool2d(x, return_indices=True, **how)
            out.backward(engine.arange(out.numel(), dtype=engine.float64).view_as(out))
            found.append((out.tolist(), places.tolist(), x.grad.tolist()))

        np.testing.assert_equal(*found)


PIECEWISE: dict[str, Any] = {
    **{
        name: lambda engine, x, name=name: getattr(engine.nn.functional, name)(x)
        for name in ("leaky_relu", "relu6", "hardtanh", "softshrink", "hardshrink")
    },
    "threshold": lambda engine, x: engine.nn.functional.threshold(x, 0.5, 1.0),
    "rrelu": lambda engine, x: engine.nn.functional.rrelu(x, 0.25, 0.25, True),
}


@pytest.mark.parametrize("name", PIECEWISE)
def test_a_penalty_on_the_gradient_of_a_piecewise_linear_function(name: str) -> None:
    """The gradient is part of the graph, by a node of PyTorch's name, and the operand's second gradient is zeros."""
    found = []
    for engine in (retrograd, torch):
        x = engine.from_numpy(VALUES.copy()).requires_grad_()
        out = PIECEWISE[name](engine, x)
        (g,) = engine.autograd.grad(out, x, engine.ones_like(out), create_graph=True)
        ((g - 1) ** 2).sum().backward()
        found.append((g.grad_fn.name(), g.tolist(), x.grad.tolist()))

    assert found[0] == found[1]

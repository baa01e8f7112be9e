"""A NumPy array as operand of a tensor; what is infinite beside a pooling window."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd

real_torch = pytest.importorskip("torch")

OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift", "matmul",
    "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
DTYPES = ("int32", "float32", "bool", "uint8", "float64", "complex64")


def told(run: Callable[[], Any]) -> tuple[Any, ...]:
    """Kind, dtype and values of a result, or the type of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = run()
    except Exception as error:
        return ("raises", type(error))
    return (type(value).__name__, str(getattr(value, "dtype", "")).rsplit(".", 1)[-1], np.asarray(value).tolist())


@pytest.mark.parametrize("name", OPERATORS)
def test_an_array_as_second_operand_is_what_numpy_makes_of_it(name: str) -> None:
    for dtype in DTYPES:
        for kind in (np.int64, np.float32, np.bool_, np.complex64, np.int8):
            for values in ([[1, 2], [3, 4]], 2, [1, 2, 3]):
                other = np.array(values).astype(kind)
                found = [
                    told(lambda t=t, other=other: getattr(operator, name)(  # type: ignore[misc]
                        t.tensor([[3, 1], [2, 1]]).to(getattr(t, dtype)), other))
                    for t in (real_torch, retrograd)
                ]  # fmt: skip
                assert found[0] == found[1], (dtype, kind, values)


def _signs(x: Any) -> Any:
    """Where values are NaN, infinite or finite."""
    x = np.asarray(x.detach().numpy())
    return np.select([np.isnan(x), np.isposinf(x), np.isneginf(x)], [1, 2, 3], 0).tolist()


def _pooled(torch: Any, pool: Callable[[Any, Any], Any], odd: float) -> Any:
    """Where the result and the gradient are not finite, with an odd value in the input and in what flows back."""
    x = np.random.default_rng(0).standard_normal((1, 2, 7, 7))
    x[0, 0, 3, 2] = x[0, 1, 6, 6] = odd
    leaf = torch.tensor(x.tolist(), dtype=torch.float64, requires_grad=True)
    y = pool(torch.nn.functional, leaf)
    g = np.ones(tuple(y.shape))
    g.reshape(-1)[[3, -1]] = odd
    y.backward(torch.tensor(g.tolist(), dtype=torch.float64))
    return _signs(y), _signs(leaf.grad)


POOLS: dict[str, Callable[[Any, Any], Any]] = {
    "adaptive 3x5": lambda F, x: F.adaptive_avg_pool2d(x, (3, 5)),
    "adaptive 4x6": lambda F, x: F.adaptive_avg_pool2d(x, (4, 6)),
    "area": lambda F, x: F.interpolate(x, (9, 4), mode="area"),
    "average": lambda F, x: F.avg_pool2d(x, 3, 2, 1, True, False),
    "linear, same size": lambda F, x: F.interpolate(x, (7, 7), mode="bilinear"),
    "antialiased": lambda F, x: F.interpolate(x, (9, 4), mode="bilinear", antialias=True),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_in_its_windows(name: str, odd: float) -> None:
    assert _pooled(retrograd, POOLS[name], odd) == _pooled(real_torch, POOLS[name], odd)

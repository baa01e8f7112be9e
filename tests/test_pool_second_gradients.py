"""Backward of pools once more, in reverse and forward mode: zeros for the input, and PyTorch's nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

real_torch = pytest.importorskip("torch")

POOLS: dict[str, Callable[[Any, Any], Any]] = {
    "average": lambda F, x: F.avg_pool2d(x[0], 2),
    "average 1": lambda F, x: F.avg_pool1d(x[0, 0], 3, 1, 1),
    "average 3": lambda F, x: F.avg_pool3d(x, 2, 1),
    "adaptive": lambda F, x: F.adaptive_avg_pool2d(x[0], (3, 2)),
    "adaptive 3": lambda F, x: F.adaptive_avg_pool3d(x, (3, 2, 1)),
    "max": lambda F, x: F.max_pool2d(x[0], 2),
    "max 3": lambda F, x: F.max_pool3d(x, 2),
    "adaptive max": lambda F, x: F.adaptive_max_pool2d(x[0], 3),
    "fractional": lambda F, x: F.fractional_max_pool2d(x[0], 2, 2),
}


def _twice(torch: Any, pool: Callable[[Any, Any], Any]) -> Any:
    """The first gradient, the names of its nodes, and both second gradients."""
    torch.manual_seed(0)
    x = (torch.arange(64.0) * 37 % 41).reshape(1, 1, 4, 4, 4).double().requires_grad_()
    y = pool(torch.nn.functional, x)
    back = torch.ones_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, back, create_graph=True)
    second = torch.autograd.grad((g * g).sum(), [x, back], materialize_grads=False, allow_unused=True)
    node = g.grad_fn
    while "Pool" not in type(node).__name__:
        node = node.next_functions[0][0]
    return type(node).__name__, len(node.next_functions), g.tolist(), [s if s is None else s.tolist() for s in second]


@pytest.mark.parametrize("name", POOLS)
def test_the_second_gradient_of_a_pool_is_torchs(name: str) -> None:
    assert _twice(retrograd, POOLS[name]) == _twice(real_torch, POOLS[name])


def _slope_of_gradient(torch: Any, name: str) -> Any:
    def gradient(x: Any) -> Any:
        return torch.func.grad(lambda x: (POOLS[name](torch.nn.functional, x) ** 3).sum())(x)

    x = (torch.arange(64.0) * 37 % 41).reshape(1, 1, 4, 4, 4).double()
    return torch.func.jvp(gradient, (x,), (torch.ones_like(x),))[1].numpy()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["average", "adaptive"])
def test_forward_mode_goes_through_the_gradient_of_a_pool(name: str) -> None:
    assert _slope_of_gradient(retrograd, name) == pytest.approx(_slope_of_gradient(real_torch, name))


def test_a_single_cell_is_a_mean() -> None:
    """Its second gradient is none, in one dimension as in two."""
    for torch in (retrograd, real_torch):
        x = torch.arange(12.0).reshape(1, 3, 4).requires_grad_()
        node = torch.nn.functional.adaptive_avg_pool1d(x, 1).grad_fn
        assert node.next_functions[0][0].name() == "MeanBackward1"


@pytest.mark.parametrize("sizes", [(0, 2, 0), (2, 0, 1), (0, 2), (2, 0), (0,)])
def test_an_adaptive_pool_may_have_no_cells(sizes: tuple[int, ...]) -> None:
    pool = f"adaptive_avg_pool{len(sizes)}d"
    shapes = [
        tuple(getattr(torch.nn.functional, pool)(torch.ones(2, 1, *(3,) * len(sizes)), sizes).shape)
        for torch in (retrograd, real_torch)
    ]
    assert shapes[0] == shapes[1]
    x = retrograd.ones(2, 1, *(3,) * len(sizes), requires_grad=True)
    getattr(retrograd.nn.functional, pool)(x, sizes).sum().backward()
    assert not x.grad.any()

"""What dispatch modes hear beside the operators: leaving the graph, numbers, new and random tensors, backward runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import differential


def heard(torch: Any, call: Callable[[], Any]) -> list[Any]:
    """Each operator that a mode is asked about: its name, arguments (tensors by their sizes) and keywords."""
    log = []

    class Noting(importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            shown = [list(a.shape) if isinstance(a, torch.Tensor) else str(a) for a in args]
            log.append((str(func), shown, {name: str(value) for name, value in (kwargs or {}).items()}))
            return func(*args, **(kwargs or {}))

    with Noting():
        call()
    return [one for one in log if one[0] != "aten.copy_.default"]  # gradients are copied more often than in PyTorch


def _f(torch: Any) -> Any:
    return torch.nn.functional


CALLS: dict[str, Callable[[Any, Any, Any], list[Callable[[], Any]]]] = {
    "leaving the graph": lambda t, x, d: [x.detach, lambda: x.data],
    "numbers": lambda t, x, d: [d[0].item, lambda: float(d[0]), lambda: bool(d.sum() > 0), lambda: int(d[0])],
    "new tensors": lambda t, x, d: [
        lambda: x.new_zeros(2, 3), lambda: x.new_ones((2,)), lambda: x.new_empty(3), lambda: x.new_full((2,), 3.0),
        lambda: t.zeros_like(x), lambda: t.full_like(x, 2.0), lambda: t.ones_like(x, dtype=t.float64),
    ],
    "tensors of sizes": lambda t, x, d: [
        lambda: t.zeros(2, dtype=t.float64), lambda: t.ones(2, device="cpu"), lambda: t.full((2,), 3.0),
        lambda: t.eye(2), lambda: t.arange(1, 5), lambda: t.randint(0, 3, (2,)), lambda: t.randint(3, (2,)),
        lambda: t.randperm(3), lambda: t.tensor([1.0, 2.0]), lambda: t.rand(2, requires_grad=True),
    ],
    "random writes": lambda t, x, d: [
        d.uniform_, lambda: d.uniform_(-1.0, 2.0), d.normal_, lambda: d.normal_(1.0, 2.0), lambda: d.bernoulli_(0.3),
        d.exponential_, d.cauchy_, d.log_normal_, lambda: d.geometric_(0.5),
    ],
    "comparisons": lambda t, x, d: [lambda: t.allclose(d, d), lambda: t.equal(d, d)],
    "backward of results": lambda t, x, d: [
        lambda: x.relu().sum().backward(), lambda: x.sigmoid().sum().backward(), lambda: x.softmax(0).sum().backward(),
        lambda: x.exp().sum().backward(), lambda: x.tanh().sum().backward(),
    ],
    "backward of a classifier": lambda t, x, d: [
        lambda: _f(t).cross_entropy(x.view(1, 2), t.tensor([1])).backward(),
        lambda: _f(t).nll_loss(x.view(1, 2), t.tensor([1]), reduction="sum").backward(),
    ],
    "backward of views": lambda t, x, d: [
        lambda: x[0].backward(), lambda: x.view(2, 1).sum().backward(), lambda: x.expand(3, 2).sum().backward(),
        lambda: t.cat([x, x]).sum().backward(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", sorted(CALLS))
def test_what_modes_hear(calls: str) -> None:
    """a mode is asked about the same operators with the same arguments, in the same order."""

    @differential
    def test(torch: Any) -> Any:
        x, d = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
        return [heard(torch, call) for call in CALLS[calls](torch, x, d)]

    test()


@differential
def test_dropout_is_heard(torch: Any) -> Any:
    """dropout draws its factors by operators; the random numbers are those of a program without a mode."""
    x = torch.ones(2, 3, 4)
    names, results = [], []
    for layer in (_f(torch).dropout, _f(torch).dropout1d):
        torch.manual_seed(3)
        plain = layer(x, 0.3)
        torch.manual_seed(3)
        found = heard(torch, lambda layer=layer: results.append(layer(x, 0.3)))
        names.append([name.replace("div_.Tensor", "div_.Scalar") for name, _, _ in found])
        results.append(plain)
    return names, results


@differential
def test_what_a_mode_answers_counts(torch: Any) -> Any:
    """the number and the tensor that a mode gives are those that the program gets."""
    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Other(base):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            return 7.0 if "local_scalar" in str(func) else made + 1 if "new_zeros" in str(func) else made

    x = torch.ones(2, requires_grad=True)
    with Other():
        return x.sum().item(), x.new_zeros(2), x.detach()

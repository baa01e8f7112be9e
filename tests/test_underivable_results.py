"""Results that require grad although PyTorch has no derivative for them: backward says so, with ATen's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

real_torch = pytest.importorskip("torch")


def _asked(torch: Any, *shape: int) -> Any:
    return torch.full(shape, 0.5, requires_grad=True)


CASES: dict[str, Callable[[Any], Any]] = {
    "histogram": lambda t: t.histogram(_asked(t, 5), 3),
    "histogram by weight": lambda t: t.histogram(t.ones(5), 3, weight=_asked(t, 5)),
    "histogram between edges": lambda t: t.histogram(_asked(t, 5), t.tensor([0.0, 1, 2])),
    "histogram of constants": lambda t: t.histogram(t.ones(5), 3),
    "histogramdd": lambda t: t.histogramdd(_asked(t, 5, 2), [3, 4]),
    "histogramdd by weight": lambda t: t.histogramdd(t.ones(5, 2), 3, weight=_asked(t, 5), density=True),
    "histogramdd between edges": lambda t: t.histogramdd(_asked(t, 5, 2), [t.tensor([0.0, 1, 2])] * 2),
    "histogramdd of constants": lambda t: t.histogramdd(t.ones(5, 2), 3),
    "binomial": lambda t: t.binomial(_asked(t, 3), t.ones(3)),
    "binomial by chance": lambda t: t.binomial(t.ones(3), _asked(t, 3)),
    "detach_copy": lambda t: t.detach_copy(_asked(t, 3)),
    "detach_copy of a constant": lambda t: t.detach_copy(t.ones(3)),
}


def _flat(value: Any) -> list[Any]:
    return [part for v in value for part in _flat(v)] if isinstance(value, (tuple, list)) else [value]


def _told(torch: Any, case: Callable[[Any], Any]) -> list[Any]:
    """Of each result: values, whether it requires grad, its node, and what backward says."""
    told = []
    for t in _flat(case(torch)):
        said = ""
        if t.requires_grad:
            with pytest.raises(RuntimeError) as error:
                t.sum().backward()
            said = str(error.value)
        values = None if "binomial" in said else t.detach().numpy().astype(float).round(4).tolist()
        told.append((values, t.requires_grad, t.grad_fn and t.grad_fn.name(), said))
    return told


@pytest.mark.parametrize("name", CASES)
def test_backward_of_what_has_no_derivative_raises_as_in_torch(name: str) -> None:
    assert _told(retrograd, CASES[name]) == _told(real_torch, CASES[name])

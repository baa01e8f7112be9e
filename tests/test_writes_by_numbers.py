"""``x += y`` and ``x.add_(y)`` by numbers and tensors are PyTorch's: values, versions, refusals (SPEC row V-22)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")
OPERATORS = {"add_": operator.iadd, "sub_": operator.isub, "mul_": operator.imul, "div_": operator.itruediv}
NUMBERS = (0, 3, -2, 0.0, -0.0, 0.1, 1e-50, 1e300, float("inf"), float("nan"), True)
KINDS = ("float32", "float64", "int64")


def written(engine: Any, write: Any, kind: str, other: Any, *, grad: bool = False) -> Any:
    """What a tensor holds after a write, its version and whose it is; or the refusal."""
    x = engine.from_numpy(np.array([[1.5, -0.0, 3.0], [0.25, -7.0, 2.0]]).astype(kind))
    if grad:
        x.requires_grad_()
    y = engine.from_numpy(np.array(other).astype(kind)) if isinstance(other, list) else other
    try:
        result = write(x, y)
    except (RuntimeError, TypeError, OverflowError) as error:
        return type(error), x._version
    return result is x, x._version, x.requires_grad, x.is_leaf, x.detach().numpy().tobytes()


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_writes_are_those_of_torch(name: str, kind: str) -> None:
    """Operator and method, by each number and by a tensor, with and without ``no_grad``, of a leaf that is watched."""
    for other in (*NUMBERS, [[1, 2, 3], [4, 5, 6]], [2, 0, 1]):
        for write in (OPERATORS[name], lambda x, y: getattr(x, name)(y)):
            assert written(rg, write, kind, other) == written(torch, write, kind, other), (name, kind, other)
            grad = kind != "int64"
            assert written(rg, write, kind, other, grad=grad) == written(torch, write, kind, other, grad=grad)
            with rg.no_grad(), torch.no_grad():
                mine, theirs = (written(engine, write, kind, other, grad=grad) for engine in (rg, torch))
            assert mine == theirs, (name, kind, other)


def test_a_number_is_written_without_the_general_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training loop's ``p -= rate * p.grad`` and ``v *= 0.9`` do not take the way for whatever is rare."""
    from retrograd.engine.calls import inplace

    def fail(*args: Any) -> None:
        raise AssertionError("the general path was taken")

    monkeypatch.setattr(inplace, "_written", fail)
    p, g = rg.ones(3, requires_grad=True), rg.ones(3)
    with rg.no_grad():
        p -= 0.5 * g
        p *= 0.5
        p /= 2
    assert p.tolist() == [0.125] * 3
    assert p._version == 3


def two_scaled(engine: Any) -> Any:
    """A Function that keeps attributes on its node, under names that the engine's own nodes use, too."""

    class TwoScaled(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.op, ctx.nr, ctx.node = "scale", 3, None
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2 + grads[1] * ctx.nr

    return TwoScaled


def test_results_of_a_function_that_names_its_attributes_op_and_nr_are_written() -> None:
    """Row F-01: what a program keeps on its node has no meaning for the versions of the results."""
    found = []
    for engine in (torch, rg):
        x = engine.ones(2, requires_grad=True)
        a, b = two_scaled(engine).apply(x)
        a += 1
        with engine.no_grad():
            b.mul_(2)
        (a * b).sum().backward()
        found.append((a._version, b._version, a.tolist(), b.tolist(), x.grad.tolist()))
    assert found[0] == found[1]

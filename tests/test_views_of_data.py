"""Views of tensors without gradient, and many views at once: what is recorded is what PyTorch records (SPEC rows V)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")


def data_view(t: Any) -> Any:
    """Data, row by row: no gradient goes there."""
    x, w = t.ones(3, 4), t.ones(4, 2, requires_grad=True)
    y = x[1:][0].unsqueeze(0) @ w
    y.sum().backward()
    return y.grad_fn.next_functions[0], w.grad.tolist()


def base_requires_grad_later(t: Any) -> Any:
    """The view asks for a gradient that leads nowhere."""
    x = t.ones(3, 3)
    v = x[0]
    x.requires_grad_()
    y = v * 2
    return y.requires_grad, v[0].requires_grad, y.grad_fn.next_functions[0]


def base_written_with_history(t: Any) -> Any:
    """A view of data gets history when its base is overwritten with something that has."""
    x, w = t.ones(4, 4), t.ones(4, 4, requires_grad=True)
    inner, other = x[1][1:], x[0]
    x.mul_(w)
    (inner.sum() + other[2]).backward()
    return w.grad.tolist()


def piece_after_such_a_write(t: Any) -> Any:
    """A piece of several is refused then."""
    x, w = t.ones(4), t.ones(4, requires_grad=True)
    piece = x.chunk(2)[0]
    x.mul_(w)
    return (piece * 2).requires_grad


def view_with_gradient_of_its_own(t: Any) -> Any:
    """A view of data may be a leaf."""
    v = t.ones(3, 3)[0]
    v.requires_grad_()
    (v * 2).sum().backward()
    return v.grad.tolist(), v.is_leaf


def inference_view(t: Any) -> Any:
    """Views of inference tensors may not be saved."""
    with t.inference_mode():
        x = t.ones(2, 3)
    assert x[0].is_inference()
    assert [piece.is_inference() for piece in x.unbind()] == [True, True]
    return x[0] * t.ones(3, requires_grad=True)


def many_receivers(t: Any) -> Any:
    """Tensors in a list: some leaves, some several times, some pieces of a split."""
    leaves = [t.ones(6, requires_grad=True) for _ in range(20)]
    pieces = [piece for leaf in leaves for piece in (leaf * 2).chunk(3)]
    t.cat([*leaves, *pieces, *pieces[::-2], leaves[0] * 3]).sum().backward()
    return [leaf.grad.tolist() for leaf in leaves]


def rows(t: Any) -> Any:
    """Rows of matrices, of lists of numbers and of nothing."""
    x = t.ones(2, 3, requires_grad=True)
    a, b = x.unbind(-2)
    (a * b * 3).sum().backward()
    return x.grad.tolist(), [tuple(r.shape) for r in t.ones(2).unbind()], t.ones(0, 2).unbind()


PROGRAMS: list[Callable[[Any], Any]] = [
    data_view, base_requires_grad_later, base_written_with_history, piece_after_such_a_write,
    view_with_gradient_of_its_own, inference_view, many_receivers, rows,
]  # fmt: skip


def outcome(program: Callable[[Any], Any], engine: Any) -> Any:
    """What a program returns, or how its error begins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return program(engine)
        except RuntimeError as error:
            return str(error)[:40]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_in_pytorch(program: Callable[[Any], Any]) -> None:
    assert outcome(program, retrograd) == outcome(program, torch)

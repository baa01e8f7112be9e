"""SPEC E, names that programs use: control flow that depends on tensors, and numbers that a compiler may leave open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd
from retrograd._higher_order_ops import while_loop

real_torch = pytest.importorskip("torch")


def test_cond_takes_a_branch_and_records_it() -> None:
    """A constant keeps PyTorch from compiling: then its graph is that of the branch, too."""

    def graph(torch: Any, pred: bool) -> Any:
        x = torch.arange(3.0, requires_grad=True)
        y = torch.cond(pred, lambda x: x.sin(), lambda x: x.cos(), (x,))
        return y.tolist(), y.grad_fn.name(), torch.autograd.grad(y.sum(), x)[0].tolist()

    for pred in (True, False):
        ours, theirs = graph(retrograd, pred), graph(real_torch, pred)
        assert ours[1] == theirs[1]
        assert ours[0] == pytest.approx(theirs[0])
        assert ours[2] == pytest.approx(theirs[2])
    x = retrograd.arange(3.0)
    assert retrograd.cond(x.sum() > 9, lambda a, b: a, lambda a, b: b, (x, x + 1)).tolist() == [1, 2, 3]


def test_while_loop_carries_its_values() -> None:
    """The gradient goes through every turn: 2**3."""
    x = retrograd.arange(3.0, requires_grad=True)
    i, y = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (retrograd.tensor(0), x))
    assert (i.item(), y.tolist()) == (3, [0, 8, 16])
    assert retrograd.autograd.grad(y.sum(), x)[0].tolist() == [8, 8, 8]
    assert retrograd.while_loop(lambda i: i < 3, lambda i: i + 1, (0,)) == (3,)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.cond(t.ones(3) > 0, lambda x: x, lambda x: -x, (t.ones(3),)),
        lambda t: t.cond(t.ones(()) > 0, lambda x: x, lambda x: -x, ("a",)),
        lambda t: t.while_loop(1, lambda i: (i,), (t.ones(()),)),
    ],
)
def test_refusals_are_torchs(call: Callable[[Any], Any]) -> None:
    messages = []
    for torch in (retrograd, real_torch):
        with pytest.raises(RuntimeError) as error:
            call(torch)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    with pytest.raises(RuntimeError, match="same number of outputs"):
        retrograd.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1,), (0, retrograd.ones(2)))


def test_threads_between_operators_are_noted() -> None:
    """PyTorch takes the number once in a process; here it may be set again."""
    before = retrograd.get_num_interop_threads()
    try:
        retrograd.set_num_interop_threads(3)
        assert retrograd.get_num_interop_threads() == 3
    finally:
        retrograd.set_num_interop_threads(before)
    with pytest.raises(RuntimeError, match="positive integer, got 0"):
        retrograd.set_num_interop_threads(0)


def test_numbers_that_a_compiler_may_leave_open() -> None:
    calls: dict[str, list[tuple[Any, ...]]] = {
        "sym_int": [(2.7,), (-2.7,), (True,)], "sym_float": [(3,), (True,)], "sym_not": [(0,), (3,)],
        "sym_ite": [(True, 1, 2), (False, 1, 2)], "sym_max": [(1, 2), (1, 2.5), (2.5, 1)], "sym_min": [(1, 2.5)],
    }  # fmt: skip
    for name, several in calls.items():
        for args in several:
            ours, theirs = (getattr(t, name)(*args) for t in (retrograd, real_torch))
            assert (type(ours), ours) == (type(theirs), theirs), (name, args)
    assert (retrograd.sym_sum([1, 2, 3]), retrograd.sym_sum(1, 2.5), retrograd.sym_sqrt(9)) == (6, 3.5, 3.0)
    with pytest.raises(AssertionError):
        retrograd.sym_max(retrograd.ones(()), 1)

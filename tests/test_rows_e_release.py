"""SPEC rows E-15, G-27, G-30: nothing of a graph is left for the garbage collector, whatever hung on it."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable

import pytest
from custom_functions import nested

import retrograd as torch
from retrograd.engine.core.base import TensorBase
from retrograd.engine.nodes.node import GraphNode
from retrograd.engine.switches import state


def leaf() -> torch.Tensor:
    """A leaf that requires grad."""
    return torch.tensor([0.5, 1.5], requires_grad=True)


class Square(torch.autograd.Function):
    """A custom Function that saves its input and its output."""

    @staticmethod
    def forward(ctx, x):
        y = x * x
        ctx.save_for_backward(x, y)
        ctx.note = "kept"
        return y

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return 2 * x * g


def plain() -> None:
    a = leaf()
    (a.exp() * a.tanh() + a.sigmoid()).sum().backward()


def never_run() -> None:
    a = leaf()
    y = a.exp().tanh()
    y.unbind()
    (y * y).sum()


def second_order() -> None:
    a = leaf()
    y = (a.exp() * a.tanh() * a).sum()
    (g,) = torch.autograd.grad(y, a, create_graph=True)
    torch.autograd.grad(g.sum(), a, retain_graph=True)
    g.sum()


def custom() -> None:
    a = leaf()
    Square.apply(Square.apply(a)).sum().backward()
    Square.apply(a)
    (g,) = torch.autograd.grad(Square.apply(a).sum(), a, create_graph=True)
    g.sum().backward()


def views_and_writes() -> None:
    a = leaf()
    base = a.clone()
    base[0:1].mul_(2)
    v = base.view(2, 1)
    base.mul_(a)
    (v * base).sum().backward()
    other = a * 1
    other.unsqueeze(0).add_(1)


def hooks() -> None:
    a = leaf()
    b = a.exp()
    y = b * a
    y.retain_grad()
    b.register_hook(lambda g: g * 2)
    a.register_hook(lambda g: None)
    y.grad_fn.register_hook(lambda i, o: None)
    y.grad_fn.register_prehook(lambda g: None)
    a.register_post_accumulate_grad_hook(lambda t: None)
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: None)
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: None, mode="any")
    y.sum().backward()
    y.grad_fn.metadata["note"] = 1


def saved_hooks() -> None:
    a = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = a.exp() * a.tanh()
    y.grad_fn.next_functions[0][0]._saved_result
    y.sum().backward(retain_graph=True)
    with torch.autograd.graph.save_on_cpu():
        (a.exp() * a).sum()
    with torch.autograd.graph.save_on_disk():
        (a.exp() * a).sum()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        z = b.exp() * b
        b.mul_(2)
        z.sum().backward()
        a.exp()


def errors() -> None:
    a = leaf()
    y = a.exp()

    def fails(g):
        raise KeyError("stop")

    a.register_hook(fails)
    try:
        (y * y).sum().backward()
    except KeyError:
        pass


def errors_in_nested_runs() -> None:
    def innermost() -> None:
        raise KeyError("stop")

    try:
        nested(torch, innermost).apply(leaf(), 30).sum().backward()
    except KeyError:
        pass


def modes() -> None:
    a = leaf()
    with torch.no_grad():
        a.exp()
    with torch.inference_mode():
        a.exp()
    with torch.autograd.set_detect_anomaly(True):
        (a * a).sum().backward()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, torch.ones(2))
        y = (dual.exp() * dual.tanh()).sum()
        torch.autograd.forward_ad.unpack_dual(y).tangent.backward()


def logged() -> None:
    a = leaf()
    log = logging.getLogger("torch.autograd.graph")
    before, log.propagate = log.level, False
    log.setLevel(logging.DEBUG)
    try:
        (a.exp() * a).sum().backward()
    finally:
        log.setLevel(before)
        log.propagate = True


def looked_at() -> None:
    a = leaf()
    y = a.exp() * a
    stack = [y.grad_fn]
    while stack:
        node = stack.pop()
        node.name(), node._input_metadata, node._sequence_nr(), node.metadata
        stack.extend(n for n, _ in node.next_functions if n is not None)
    y.grad_fn._raw_saved_self
    torch.autograd.graph.get_gradient_edge(Square.apply(a))
    torch.autograd.graph.get_gradient_edge(y)
    y.grad_fn(torch.ones(2))


def left_over(program: Callable[[], None]) -> list[str]:
    """Tensors and nodes that only the garbage collector finds after a program."""
    program()  # what is made once and kept does not count
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        program()
        gc.collect()
        return [type(o).__name__ for o in gc.garbage if isinstance(o, (TensorBase, GraphNode))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


PROGRAMS = [
    plain, never_run, second_order, custom, views_and_writes, hooks, saved_hooks, errors, errors_in_nested_runs,
    modes, logged, looked_at,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_E_15_nothing_is_left_for_the_collector(program):
    """E-15: no tensor and no node sits in a reference cycle after the program."""
    assert left_over(program) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_E_17_no_switch_stays_on(program):
    """E-17: after every program, also one that failed, the count of special modes is what it was."""
    before = state.MODE
    program()
    assert state.MODE == before


def test_E_15_the_check_finds_cycles():
    """E-15: the check itself works: a hook that holds its own tensor is found."""

    def cycle() -> None:
        y = leaf() * 1
        y.register_hook(lambda g: y.shape and None)

    assert "Tensor" in left_over(cycle)


PROGRAM = """
class Own(torch.Tensor):
    pass

class Count(int):
    pass

def keep():
    return x

x = torch.ones(2, 3).as_subclass(Own).requires_grad_()
for _ in range(2):
    torch.cat([x, x], dim=Count(0))
    torch.nn.functional.linear(x, torch.ones(4, 3)).mean(dim=Count(1)).sum().backward()
    torch.stack((x, x)).reshape(Count(12)).add_(other=x.sum())
    torch.clamp(x.detach(), min=0.5, out=torch.ones(2, 3))
Own.keep = Count.keep = keep
"""


def test_E_15_classes_of_a_program_are_not_kept() -> None:
    """E-15: a class that was an argument goes with the program, and so does what its methods reach."""
    names = {"torch": torch, "__name__": "__main__"}
    exec(PROGRAM, names)
    gone = [weakref.ref(names[name]) for name in ("x", "Own", "Count")]
    with pytest.raises(TypeError):
        torch.cat([names["x"], "text"])
    del names
    gc.collect()

    assert all(one() is None for one in gone)

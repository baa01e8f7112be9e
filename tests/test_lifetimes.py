"""A graph dies with its last reference, without the garbage collector, and training needs no more memory each step."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import op_runs
import pytest
from many_cases import each
from op_samples import Sample, all_samples

import retrograd as torch
from retrograd.utils.checkpoint import checkpoint


@pytest.fixture(autouse=True, scope="module")
def no_collector() -> Iterator[None]:
    """Only reference counts free anything during these tests."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def nodes_of(outputs: list[Any]) -> list[weakref.ref[Any]]:
    """Weak references to all nodes below some tensors."""
    stack = [t.grad_fn for t in outputs if t.grad_fn is not None]
    seen: dict[int, weakref.ref[Any]] = {}
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = weakref.ref(node)
            stack.extend(n for n, _ in node.next_functions if n is not None)
    return list(seen.values())


def first_of_each_name() -> list[Sample]:
    """One sample per public operator."""
    chosen: dict[str, Sample] = {}
    for sample in all_samples():
        if sample.grad:
            chosen.setdefault(sample.name, sample)
    return list(chosen.values())


@pytest.mark.parametrize("create_graph", [False, True], ids=["plain", "create_graph"])
def test_nothing_of_an_operator_survives(create_graph: bool) -> None:
    """After forward and backward of one operator no node is left, for every operator."""
    each(first_of_each_name(), lambda sample: leaves_nothing(sample, create_graph))


def leaves_nothing(sample: Sample, create_graph: bool) -> None:
    """No node of the sample, nor of its gradients, outlives the tensors."""
    run = op_runs.run(torch, sample)
    outputs = run.outputs
    refs = nodes_of(outputs)
    if not refs:
        return  # nothing recorded: indices, or the argument itself
    total = sum((o.real if o.is_complex() else o).sum() for o in outputs)
    leaves = [t for t in run.leaves if t.requires_grad]
    grads = torch.autograd.grad(total, leaves, create_graph=create_graph, allow_unused=True)
    refs += nodes_of([g for g in grads if g is not None])
    assert any(r() is not None for r in refs)

    del run, outputs, total, leaves, grads

    assert [r() for r in refs if r() is not None] == []


def test_hooks_and_views_do_not_keep_a_graph() -> None:
    """Hooks of every kind, retained gradients, views and in-place writes leave nothing behind."""
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: None)
    y.grad_fn.register_hook(lambda i, o: None)
    z = y.clone()
    v = z[1:3]
    v.mul_(3)
    refs = nodes_of([z, v, y])
    z.sum().backward()

    del y, z, v

    assert [r() for r in refs if r() is not None] == []


def test_custom_function_saving_its_output() -> None:
    """A custom Function that saves inputs and outputs makes no cycle."""

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            _, out = ctx.saved_tensors
            return g * out

    x = torch.ones(3, requires_grad=True)
    y = Exp.apply(x)
    refs = nodes_of([y])
    y.sum().backward()

    del y

    assert [r() for r in refs if r() is not None] == []


def test_training_keeps_a_flat_memory_line() -> None:
    """1,000 more steps of SGD with views, in-place updates and hooks need no more memory."""
    torch.manual_seed(0)
    w = torch.randn(8, 8, requires_grad=True)
    b = torch.zeros(8, requires_grad=True)
    data = torch.randn(16, 8)
    b.register_hook(lambda g: g * 1.0)

    def step() -> None:
        hidden = torch.relu(data @ w + b)
        hidden = hidden.clone()
        hidden[0].mul_(0.5)
        loss = (hidden.t() ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p.sub_(p.grad, alpha=0.01)
                p.grad = None

    for _ in range(2500):  # until caches and version histories have their full length
        step()
    before = sys.getallocatedblocks()
    for _ in range(1000):
        step()
    growth = sys.getallocatedblocks() - before

    assert growth < 300, f"{growth} memory blocks more after 1,000 steps"


def test_dirty_view_that_is_saved() -> None:
    """A custom Function that writes to a view and saves it makes no cycle."""

    class Written(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = torch.tensor(1.0, requires_grad=True).clone()
    x = x.view_as(x)
    Written.apply(x)
    ref = weakref.ref(x)

    del x

    assert ref() is None


def test_custom_function_within_a_checkpoint() -> None:
    """What a custom Function saves goes with the backward run also where the function runs again until it is saved."""
    refs = []

    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.clone()
            ctx.save_for_backward(y)
            refs.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    x = torch.ones(3, requires_grad=True)
    checkpoint(Kept.apply, x, use_reentrant=False).sum().backward()

    assert len(refs) == 2
    assert [r() for r in refs if r() is not None] == []

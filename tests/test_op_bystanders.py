"""What only looks on changes no gradient: a living tensor of a class that is asked, saved values that were seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from many_cases import each
from op_runs import Run, array, close, directions, quiet, run
from op_samples import Sample, all_samples

import retrograd
from retrograd.engine.switches import watchers

OF_NAME = {sample.name: sample for sample in reversed(all_samples()) if sample.grad}
"""The first sample of each operator."""


class Asked(retrograd.Tensor):
    """A class that is asked about every operator, and computes it."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute."""
        return func(*args, **(kwargs or {}))


@contextmanager
def a_bystander() -> Iterator[None]:
    """A tensor of such a class lives, which nobody uses."""
    bystander = retrograd.Tensor._make_subclass(Asked, retrograd.ones(2))
    assert watchers.DISPATCHING > 0
    yield
    del bystander


@cache
def records_of(kind: type) -> list[str]:
    """Names under which nodes of a kind show records of saved values."""
    return [name for name in dir(kind) if name.startswith("_raw_saved_")]


def look_at_saved_values(outputs: list[Any]) -> None:
    """Read every record of a saved value of the graph, as a program does that would set hooks on it."""
    todo, seen = [t.grad_fn for t in outputs], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in records_of(type(node)):
            getattr(node, name)
        todo.extend(following for following, _ in node.next_functions)


def gradients(sample: Sample, *, looking: bool, create_graph: bool = False) -> list[Any]:
    """First-order gradients of a sample."""
    retrograd.manual_seed(0)
    made: Run = run(retrograd, sample)
    if not made.outputs:
        return []
    if looking:
        look_at_saved_values(made.outputs)
    along = directions(made, made.outputs, 0.3)
    with quiet():
        found = retrograd.autograd.grad(made.outputs, made.leaves, along, allow_unused=True, create_graph=create_graph)
    return [None if g is None else (array(g), g.dtype) for g in found]


@cache
def plain(name: str) -> list[Any]:
    """Gradients of an operator's sample that nobody looks at."""
    return gradients(OF_NAME[name], looking=False)


def assert_alike(sample: Sample, plain: list[Any], found: list[Any]) -> None:
    """The same gradients are there, of the same dtypes, shapes and values."""
    assert len(plain) == len(found)
    for a, b in zip(plain, found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert (a[1], a[0].shape) == (b[1], b[0].shape)
            close(b[0], a[0], sample)


@pytest.mark.parametrize("looking", [False, True])
def test_a_living_tensor_of_another_class_changes_no_gradient(looking: bool) -> None:
    """While a tensor with ``__torch_dispatch__`` lives, backward runs on tensors: gradients are the same."""
    names = list(OF_NAME)[looking::2]
    wanted = {name: plain(name) for name in names}
    with a_bystander():
        each(
            names,
            lambda name: assert_alike(OF_NAME[name], wanted[name], gradients(OF_NAME[name], looking=looking)),
            str,
        )


@pytest.mark.parametrize("create_graph", [False, True])
def test_looking_at_saved_values_changes_no_gradient(create_graph: bool) -> None:
    """Gradients are the same, as arrays and as tensors, after all saved values were asked for."""
    each(
        OF_NAME,
        lambda name: assert_alike(
            OF_NAME[name], plain(name), gradients(OF_NAME[name], looking=True, create_graph=create_graph)
        ),
        str,
    )


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_gradients_of_a_created_graph_are_laid_out_like_the_leaf(engine: str) -> None:
    """With ``create_graph=True`` a dense leaf's first gradient has the leaf's strides, as without."""
    torch = pytest.importorskip(engine)
    leaf = torch.arange(6.0).view(2, 3).t().requires_grad_()
    with quiet():
        (leaf * 2).sum().backward(create_graph=True)
    assert tuple(leaf.grad.stride()) == (1, 3)

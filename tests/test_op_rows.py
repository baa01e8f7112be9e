"""Generated tests of the operator table: every sample in ``op_samples_*.py`` on this engine and on PyTorch.

Where PyTorch has no second order or forward mode, ours is held against finite differences and against the adjoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graph_names import OTHER_GRAPHS, graph_of
from many_cases import by_operators, each
from op_runs import (
    Run,
    array,
    assert_same,
    cast,
    close,
    directions,
    first_order,
    forward_mode,
    gradients_agree,
    is_tensor,
    quiet,
    run,
    second_order,
)
from op_samples import Const, Sample, all_samples, function_of, look_up, tensors_for

import retrograd
from retrograd.engine import observe
from retrograd.engine.core.registry import OPS, F

torch = pytest.importorskip("torch")

SAMPLES = all_samples()
BACKENDS = (retrograd, torch)


def node_name(t: Any) -> str:
    """The name of the node that made a tensor."""
    return "" if t.grad_fn is None else str(t.grad_fn.name())


WITH_GRADIENT = [s for s in SAMPLES if s.grad]
HAVE_OTHER_GRAPHS = [s for s in WITH_GRADIENT if s.name in OTHER_GRAPHS]
FIRST_OF_NAME = list({s.name: s for s in reversed(SAMPLES) if s.variants and s.call is None}.values())[::-1]


@by_operators(SAMPLES)
def test_values_and_gradients(sample: Sample) -> None:
    """Values, dtypes and shapes are torch's, and so are first-order gradients, by bare arrays and by tensors."""
    ours, theirs = run(retrograd, sample), run(torch, sample)

    assert len(ours.results) == len(theirs.results)
    for a, b in zip(ours.results, theirs.results, strict=True):
        assert_same(a, b, sample)
    if sample.grad:
        gradients_of_both_speeds(sample, ours, theirs)


def gradients_of_both_speeds(sample: Sample, ours: Run, theirs: Run) -> None:
    """Gradients with and without ``create_graph`` are torch's and each other's; the graph is torch's, node by node."""
    assert len(ours.outputs) == len(theirs.outputs)
    if not theirs.outputs:
        return
    if sample.name not in OTHER_GRAPHS:
        assert graph_of(ours.outputs, ours.leaves) == graph_of(theirs.outputs, theirs.leaves)
    wanted = first_order(theirs)
    plain = first_order(ours)
    gradients_agree(plain, wanted, sample, 10)
    recorded = first_order(ours, create_graph=True)
    gradients_agree(recorded, wanted, sample, 10)
    for a, b in zip(plain, recorded, strict=True):
        close(array(a), array(b), sample)


def test_graphs_that_are_said_to_differ() -> None:
    """Each function that has another graph than torch's is still one, and is among the samples."""
    found = set()
    with quiet():
        for sample in HAVE_OTHER_GRAPHS:
            ours, theirs = run(retrograd, sample), run(torch, sample)
            if graph_of(ours.outputs, ours.leaves) != graph_of(theirs.outputs, theirs.leaves):
                found.add(sample.name)
    assert sorted(OTHER_GRAPHS.keys() - found) == []


@by_operators([s for s in WITH_GRADIENT if s.second])
def test_second_order(sample: Sample) -> None:
    """Gradients of gradients are torch's, or finite differences of the first where torch has none."""
    ours, theirs = run(retrograd, sample), run(torch, sample)
    if not theirs.outputs:
        return
    try:
        wanted = second_order(theirs)
    except (RuntimeError, NotImplementedError):
        slopes_agree(sample)
        return
    gradients_agree(second_order(ours), wanted, sample, 100)


def slopes_agree(sample: Sample) -> None:
    """Second order against central differences of the first-order gradients along one direction."""
    ours = run(retrograd, sample)
    steps = directions(ours, ours.leaves, 0.6)
    firsts = first_order(ours, create_graph=True)
    pairs = [(i, g) for i, g in enumerate(firsts) if g is not None and g.requires_grad]
    if not pairs:
        return
    weights = directions(ours, [g for _, g in pairs], 0.9)
    seconds = retrograd.autograd.grad([g for _, g in pairs], ours.leaves, weights, allow_unused=True)
    found = sum(inner(s, d) for s, d in zip(seconds, steps, strict=True) if s is not None)
    moved = [shifted_gradients(sample, steps, sign * 1e-5) for sign in (1, -1)]
    slope = sum(inner(w, plus[i]) - inner(w, minus[i]) for (i, _), w in zip(pairs, weights, strict=True)
                for plus, minus in [moved]) / 2e-5  # fmt: skip
    np.testing.assert_allclose(found, slope, 2e-5, 1e-7)


def shifted_gradients(sample: Sample, steps: list[Any], size: float) -> list[Any]:
    """First-order gradients with the leaves moved along ``steps``."""
    moving = iter(steps)

    def function(*args: Any, **kwargs: Any) -> Any:
        move = [a + next(moving) * size if is_tensor(a) and a.requires_grad else a for a in args]
        moved_kwargs = {
            k: v + next(moving) * size if is_tensor(v) and v.requires_grad else v for k, v in kwargs.items()
        }
        return sample.call(retrograd, *move, **moved_kwargs) if sample.call else look_up(retrograd, sample.name)(
            *move, **moved_kwargs
        )  # fmt: skip

    return first_order(run(retrograd, sample, function))


def inner(a: Any, b: Any) -> float:
    """The real inner product of two tensors."""
    return float(np.sum(np.real(np.conj(array(a)) * array(b))))


@by_operators([s for s in WITH_GRADIENT if s.forward])
def test_forward_mode(sample: Sample) -> None:
    """Tangents are torch's, or the adjoint of the (checked) reverse mode where torch has none."""
    if not run(torch, sample).outputs:
        return
    with quiet():
        ours = forward_mode(retrograd, sample)
        try:
            wanted = forward_mode(torch, sample)
        except (RuntimeError, NotImplementedError):
            adjoint_agrees(sample, ours)
            return
    for a, b in zip(ours, wanted, strict=True):
        close(a, b, sample, 10)


def adjoint_agrees(sample: Sample, tangents: list[Any]) -> None:
    """``<w, J t> = <J^T w, t>``."""
    ours = run(retrograd, sample)
    cotangents = directions(ours, ours.outputs, 0.3)
    gradients = first_order(ours, cotangents=cotangents)
    kept = [t for t, r in zip(tangents, ours.results, strict=True) if is_tensor(r) and r.requires_grad]
    left = sum(np.sum(np.real(np.conj(array(w)) * t)) for w, t in zip(cotangents, kept, strict=True) if t is not None)
    steps = directions(ours, ours.leaves, 0.6)
    right = sum(inner(g, d) for g, d in zip(gradients, steps, strict=True) if g is not None)
    np.testing.assert_allclose(left, right, 1e-8, 1e-10)


IN_PLACE = [
    s
    for s in SAMPLES
    if s.variants
    and s.call is None
    and hasattr(torch.Tensor, s.name + "_")
    and isinstance(s.args[0], (np.ndarray, Const))
]


def in_place(name: str) -> Any:
    """The in-place method on a clone of the first argument."""
    return lambda self, *args, **kwargs: getattr(self.clone(), name + "_")(*args, **kwargs)


@by_operators(IN_PLACE)
def test_in_place_variant(sample: Sample) -> None:
    """``name_`` gives what ``name`` gives, with torch's node and gradients; what torch refuses is refused."""
    function = in_place(sample.name)
    try:
        theirs = run(torch, sample, function)
    except (RuntimeError, TypeError):
        theirs = None
    if theirs is None:
        assert refuses(sample, function), "torch refuses this"
        return
    ours = run(retrograd, sample, function)
    assert_same(ours.results[0], theirs.results[0], sample)
    if sample.grad and theirs.outputs:
        if sample.node:
            assert node_name(ours.outputs[0]) == node_name(theirs.outputs[0])
        try:
            wanted = first_order(theirs)
        except NotImplementedError:  # torch forgot the derivative of this in-place form
            wanted = first_order(run(torch, sample))
        gradients_agree(first_order(ours), wanted, sample, 10)


def refuses(sample: Sample, function: Any) -> bool:
    """Whether our engine refuses a call."""
    try:
        run(retrograd, sample, function)
    except (RuntimeError, TypeError):
        return True
    return False


METHODS = [s for s in FIRST_OF_NAME if callable(getattr(torch.Tensor, s.name, None)) and s.name != "where"]


def test_method() -> None:
    """The tensor method of an operator gives what torch's gives."""
    each(METHODS, method_agrees)


def method_agrees(sample: Sample) -> None:
    """The results of the method on both engines are the same."""
    ours = run(retrograd, sample, lambda self, *a, **k: getattr(self, sample.name)(*a, **k))
    theirs = run(torch, sample, lambda self, *a, **k: getattr(self, sample.name)(*a, **k))

    assert len(ours.results) == len(theirs.results)
    for a, b in zip(ours.results, theirs.results, strict=True):
        assert_same(a, b, sample)


# In torch.linalg the first argument is called A or x; that torch takes "input" there, too, is not documented.
BY_NAME = [
    s
    for s in FIRST_OF_NAME
    if isinstance(s.args[0], np.ndarray) and len(s.args) < 3 and not s.name.startswith("linalg.")
]


def test_first_argument_by_name() -> None:
    """Where torch takes ``input=``, so do we."""
    each(BY_NAME, first_argument_goes_by_name)


def first_argument_goes_by_name(sample: Sample) -> None:
    """The results are torch's, unless torch does not take the name."""
    by_name = replace(sample, args=(), kwargs={"input": sample.args[0], **named_rest(sample), **sample.kwargs})
    try:
        theirs = run(torch, by_name)
    except TypeError:
        return
    for a, b in zip(run(retrograd, by_name).results, theirs.results, strict=True):
        assert_same(a, b, sample)


def named_rest(sample: Sample) -> dict[str, Any]:
    """The second argument by name, where torch calls it ``other``; else nothing, and only one-argument calls count."""
    return {"other": sample.args[1]} if len(sample.args) == 2 else {}


def test_out() -> None:
    """Where torch's function takes ``out=``, so does ours, and fills it."""
    each(FIRST_OF_NAME, out_is_filled)


def out_is_filled(sample: Sample) -> None:
    """The tensors given as ``out`` hold what torch's hold, unless torch does not take them."""
    filled = []
    for engine in reversed(BACKENDS):
        with engine.no_grad():
            plain = [r for r in run(engine, sample).results if is_tensor(r)]
            targets = tuple(engine.zeros_like(r) for r in plain)
            out = targets[0] if len(targets) == 1 else targets

            def into(*args: Any, engine: Any = engine, out: Any = out, **kwargs: Any) -> Any:
                return look_up(engine, sample.name)(*args, out=out, **kwargs)

            try:
                run(engine, sample, into)
            except (TypeError, RuntimeError):
                if engine is torch:
                    return
                raise
            filled.append(targets)
    for a, b in zip(filled[1], filled[0], strict=True):
        assert_same(a, b, sample)


@by_operators(FIRST_OF_NAME)
def test_other_dtypes(sample: Sample) -> None:
    """Whatever dtype torch takes is taken, with torch's result dtype, values and gradients."""
    each(["float16", "float32", "complex64", "complex128"], lambda dtype: same_or_refused(cast(sample, dtype)), str)


def same_or_refused(sample: Sample) -> None:
    """Results and gradients are torch's, unless torch refuses the sample."""
    try:
        theirs = run(torch, sample)
        wanted = first_order(theirs) if sample.grad else []
    except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):
        return
    ours = run(retrograd, sample)
    for a, b in zip(ours.results, theirs.results, strict=True):
        assert_same(a, b, sample)
    gradients_agree(first_order(ours) if sample.grad else [], wanted, sample, 10)


@by_operators([s for s in SAMPLES if s.numeric])
def test_derivatives_that_torch_has_not(sample: Sample) -> None:
    """First and second order and forward mode against finite differences."""
    args: list[Any] = []
    tensors_for(retrograd, sample.args, args)
    others = [a for a in sample.args if not isinstance(a, np.ndarray)]
    function = function_of(retrograd, sample)

    assert retrograd.autograd.gradcheck(lambda *x: function(*x, *others), args, check_forward_ad=True)
    assert retrograd.autograd.gradgradcheck(lambda *x: function(*x, *others), args)


class Watcher:
    """Notes which rows of the table ran on tensors."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def operation(self, op: Any, *_: Any) -> None:
        """An operation ran."""
        self.names.add(str(getattr(op, "name", op)))

    def inplace(self, op: Any, *_: Any) -> None:
        """A row wrote in place."""
        self.names.add(str(getattr(op, "name", op)).removesuffix("_"))


def noting(op: Any, names: set[str]) -> Any:
    """The kernel of a row, which notes that it ran."""
    forward = op.forward

    def call(*args: Any, **kwargs: Any) -> Any:
        names.add(op.name)
        return forward(*args, **kwargs)

    return call


def not_run(wanted: set[str]) -> set[str]:
    """Names of the rows that no sample, nor its gradient, second order, forward mode or in-place form, runs."""
    watcher = Watcher()
    kernels = {name: op.forward for name, op in OPS.items()}
    observe.add(watcher)
    try:
        for op in OPS.values():
            put_forward(op, noting(op, watcher.names))
        for way, samples in WAYS:
            for sample in samples:
                if wanted <= watcher.names:
                    return set()
                with contextlib.suppress(Exception), quiet():  # what fails has its own test that tells of it
                    way(sample)
    finally:
        observe.remove(watcher)
        for name, forward in kernels.items():
            put_forward(OPS[name], forward)
    return wanted - watcher.names


def put_forward(op: Any, forward: Any) -> None:
    """Give a row another kernel; what was generated from the row with the old one is made again."""
    op.forward = forward
    op.__dict__.pop("call", None)
    F.__dict__.pop(op.name, None)


WAYS: list[tuple[Callable[[Sample], Any], list[Sample]]] = [
    (lambda sample: run(retrograd, sample), list(SAMPLES)),
    (lambda sample: run(retrograd, sample, in_place(sample.name)), IN_PLACE),
    (lambda sample: forward_mode(retrograd, sample), SAMPLES[:1]),
    (lambda sample: second_order(run(retrograd, sample)), list(SAMPLES)),
]
"""What samples are run for, the cheapest first: once every row was seen the rest is not needed.

All that forward mode adds is the row that makes a dual tensor."""


def test_every_differentiable_row_has_a_sample() -> None:
    """Each differentiable row of the operator table is run by some sample."""
    run(retrograd, SAMPLES[0])  # the table is read on first use
    differentiable = {name for name, op in OPS.items() if op.rules or op.joint}

    assert len(differentiable) > 300
    assert sorted(not_run(differentiable)) == []

"""The fast backward does what the full one does, down to the bit, and steps aside where it could be seen."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.engine.execution import execute, sweep
from retrograd.engine.switches import watchers


@pytest.fixture(autouse=True)
def nobody_watches() -> Iterator[None]:
    """Leave out what other tests of this process still hold, as garbage perhaps, which is not to go meanwhile."""
    gc.disable()
    others, asked = watchers.LIVE, watchers.DISPATCHING
    watchers.LIVE -= others
    watchers.DISPATCHING -= asked
    yield
    watchers.LIVE += others
    watchers.DISPATCHING += asked
    gc.enable()


@contextmanager
def full_engine() -> Iterator[None]:
    """Pretend that some code of the user is watching."""
    watchers.appear()
    try:
        yield
    finally:
        watchers.vanish()


def random_graph(seed: int) -> tuple[list[Any], Any]:
    """Leaves and a loss over shared, broadcast, split, viewed and written intermediates."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    leaves = [
        torch.randn(3, 4, requires_grad=True),
        torch.randn(4, requires_grad=True),
        torch.randn(4, 3, requires_grad=True),
    ]
    pool = [leaves[0] * 1, leaves[0] + leaves[1], (leaves[2].t() * 2)]
    for _ in range(r.randrange(4, 20)):
        a, b = r.choice(pool), r.choice(pool)
        made = r.choice([
            lambda: a * b, lambda: a + b, lambda: a.sin(), lambda: a.relu() - b, lambda: (a @ leaves[2]) @ leaves[0],
            lambda: torch.cat([a[:1], b[1:]]), lambda: torch.stack(list(a.unbind(0))), lambda: a.clone().mul_(b),
            lambda: a / (b * b + 1), lambda: torch.softmax(a, 1), lambda: a.max(0).values + b, lambda: a.sum(0) * b,
        ])  # fmt: skip
        pool.append(made())
    v = pool[-1].clone()
    v[0].mul_(2)
    return leaves, (v + r.choice(pool)).sum()


@pytest.mark.parametrize("seed", range(60))
def test_same_bits_as_the_full_engine(seed: int) -> None:
    """Gradients of random graphs are equal to the last bit, also when they are added up."""
    leaves, loss = random_graph(seed)
    loss.backward(retain_graph=True)
    loss.backward()

    again, loss = random_graph(seed)
    with full_engine():
        loss.backward(retain_graph=True)
        loss.backward()

    for a, b in zip(leaves, again, strict=True):
        if b.grad is None:
            assert a.grad is None
        else:
            np.testing.assert_array_equal(a.grad.numpy(), b.grad.numpy())


def graph_of(t: Any) -> list[tuple[str, int, int]]:
    """The nodes behind a tensor in the order they were made, each with how many edges it has and where they lead."""
    seen, stack = set(), [t.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack += [n for n, _ in node.next_functions]
    made = sorted([n for n in seen if n.next_functions], key=lambda n: n._sequence_nr())
    place = {n: i for i, n in enumerate(made)}
    return [(n.name(), len(n.next_functions), sum(place.get(m, -1) for m, _ in n.next_functions)) for n in made]


def gradients_of_gradients(seed: int) -> tuple[list[Any], list[Any]]:
    """What a seeded graph gives, to first and second order, and the graph of the first order's result."""
    leaves, loss = random_graph(seed)
    with torch.no_grad():  # a run that creates a graph records whatever the mode is
        first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        assert not torch.is_grad_enabled()
    product = sum((g * g.cos()).sum() for g in first if g is not None)
    second = torch.autograd.grad(product, leaves, allow_unused=True) if product.requires_grad else ()
    return [None if g is None else g.tolist() for g in (*first, *second)], graph_of(product)


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_graph_of_gradients_is_that_of_the_full_engine(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that creates a graph is swept as well: same values to the bit, same nodes in the same order."""
    with full_engine():
        wanted = gradients_of_gradients(seed)
    monkeypatch.setattr(execute, "GraphTask", None)  # what would run in full fails
    assert gradients_of_gradients(seed) == wanted


def test_failed_run_that_creates_a_graph_leaves_nothing_behind() -> None:
    """E-17: gradients that were on their way are forgotten; grad mode is as it was."""
    x = torch.ones(2, requires_grad=True)
    y = (x * 1).exp()
    loss = (y * y).sum()
    with torch.no_grad():
        y.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(loss, x, create_graph=True)
        assert not torch.is_grad_enabled()
    (g,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
    assert g.tolist() == [3.0, 3.0]


def test_gradients_of_a_dtype_of_their_own_when_a_graph_is_created() -> None:
    """A leaf's ``grad_dtype`` counts in both ways to run."""
    for engine in (nullcontext, full_engine):
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        x.grad_dtype = torch.float32
        with engine():
            (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        assert g.dtype is torch.float32


def test_errors_leave_complete_leaves_filled() -> None:
    """E-17: accumulations that were complete before the failing node stay; the graph can be used again."""

    def program() -> list[Any]:
        early, late = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        saved = early * 1
        y = saved.exp()
        z = (y * late * 3).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
        other = torch.ones(2, requires_grad=True)
        (other * 2).sum().backward()
        return [None if t.grad is None else t.grad.tolist() for t in (early, late, other)]

    with full_engine():
        wanted = program()

    assert program() == wanted


def many_receivers(count: int) -> tuple[list[Any], Any]:
    """A stack of many: of leaves, of both parts of one split, of what shares a leaf, out of order of creation."""
    leaves = [torch.ones(2) * (i + 1) for i in range(count)]
    for x in leaves:
        x.requires_grad_()
    shared = leaves[0] * 2
    low, high = torch.cat([leaves[1], leaves[2]]).chunk(2)
    made = [x * shared for x in leaves]
    return leaves, (torch.stack([low, *reversed(made), *leaves, high, shared]) ** 2).sum()


def test_many_receivers_wait_as_one_run() -> None:
    grads = []
    for engine in (nullcontext, full_engine):
        leaves, loss = many_receivers(12)
        with engine():
            loss.backward()
        grads.append([x.grad.tolist() for x in leaves])
    assert grads[0] == grads[1]


def test_error_within_a_run_forgets_the_rest_of_it() -> None:
    x, early = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    parts = [x * i for i in range(20)]
    spoilt = parts[10].exp()
    loss = torch.stack([*parts, spoilt, early]).sum()
    with torch.no_grad():
        spoilt.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert early.grad.tolist() == [1.0, 1.0]
    assert x.grad is None
    torch.stack([x * i for i in range(20)]).sum().backward()
    assert x.grad.tolist() == [190.0, 190.0]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_elements_of_a_stack_that_expect_different_gradients(first: int) -> None:
    """V-14: a leaf with a ``grad_dtype``, one of another dtype and one without gradient, whichever is asked first."""
    plain, named, double = (torch.ones(2, dtype=d, requires_grad=True) for d in (torch.float32,) * 2 + (torch.float64,))
    named.grad_dtype = torch.float64
    rest = [named, double, torch.ones(2)]
    torch.stack([*rest[:first], plain, *rest[first:]]).sum().backward()
    assert [t.grad.dtype for t in (plain, named, double)] == [torch.float32, torch.float64, torch.float64]
    alike = [torch.ones(2, requires_grad=True) for _ in range(3)]
    alike[2].grad_dtype = torch.float64
    torch.stack(alike).sum().backward()
    assert [t.grad.dtype for t in alike] == [torch.float32, torch.float32, torch.float64]


def test_gives_way_to_hooks_functions_and_retained_gradients() -> None:
    """Whatever runs the user's code makes the sweep impossible while it lives."""
    assert sweep.possible()

    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(lambda g: g * 10)
    assert not sweep.possible()
    (x * 1).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
    handle.remove()
    del x, handle
    assert sweep.possible()

    y = torch.ones(2, requires_grad=True) * 2
    y.retain_grad()
    assert not sweep.possible()
    del y
    assert sweep.possible()


def test_only_one_sweep_at_a_time() -> None:
    """While one thread sweeps, others run the full engine; nothing is lost."""
    w = torch.ones(2, requires_grad=True)
    assert sweep._busy.acquire(blocking=False)
    try:
        (w * 3).sum().backward()
    finally:
        sweep._busy.release()
    assert w.grad.tolist() == [3.0, 3.0]

    threads = [threading.Thread(target=lambda: [(w * 1).sum().backward() for _ in range(200)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert w.grad.tolist() == [803.0, 803.0]


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_recorded_sweep_tells_what_a_full_run_tells(seed: int) -> None:
    """A recorded run is swept as well: same gradients to the bit, same measures of nodes but times and order."""
    leaves, loss = random_graph(seed)
    loss.backward(retain_graph=True)
    loss.backward()
    recorded = []
    for engine in (nullcontext, full_engine):
        again, loss = random_graph(seed)
        with torch.debug(level="backward") as trace, engine():
            assert sweep.possible() is (engine is nullcontext)
            loss.backward(retain_graph=True)
            loss.backward()
        recorded.append(trace.recording)
        for a, b in zip(leaves, again, strict=True):
            assert (a.grad is None) == (b.grad is None)
            assert a.grad is None or a.grad.numpy().tobytes() == b.grad.numpy().tobytes()

    for run in range(2):
        swept, full = (recording.graphs[run].measures for recording in recorded)
        assert sorted(swept["order"]) == sorted(full["order"]) == list(range(len(full["order"])))
        for name in full.keys() - {"order", "time_us", "started_us", "saved_bytes"}:
            assert swept[name] == full[name], name
    told = [[(e.kind, e.data.get("before"), e.data.get("grad_norm")) for e in r.events] for r in recorded]
    assert sorted(map(str, told[0])) == sorted(map(str, told[1]))


def test_recorded_sweep_names_the_node_that_failed() -> None:
    """The node at which a swept run ends is known, and leaves that were complete are filled and told."""
    with torch.debug(level="backward") as trace:
        early, late = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = (early * 1).exp()
        z = (y * late * 3).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
    ended = trace.recording.events[-1]
    snapshot = trace.recording.graphs[-1]
    failed = snapshot.seq.index(ended.data["failed_node"] - snapshot.first_seq)
    assert ended.kind == "backward-end"
    assert snapshot.op[failed] == "MulBackward0"
    assert [e.kind for e in trace.recording.events].count("accumulate") == (late.grad is not None)


def test_gradients_that_somebody_holds_are_not_added_to_in_place() -> None:
    """Products, views and broadcast sums meet at a leaf and at a node, in either order; gradients are the caller's."""
    values = np.random.default_rng(8).standard_normal((4, 4))
    ways: list[Any] = [
        lambda x: x.t(), lambda x: x + 0, lambda x: x.t() @ x.detach(), lambda x: x @ x.t().detach(),
        lambda x: x.sum().expand(4, 4), lambda x: x.sum(0, keepdim=True).expand(4, 4), lambda x: x.t().t(),
    ]  # fmt: skip
    for first in ways:
        for second in ways:
            found = []
            for engine in (nullcontext, full_engine):
                x = torch.from_numpy(values.copy()).requires_grad_()
                inner = x * 1
                outs = [way(t) for t in (x, inner) for way in (first, second)]
                given = [torch.from_numpy(values + i) for i in range(4)]
                with engine():
                    torch.autograd.backward([*outs, x.sum()], [*given, None])
                found.append(x.grad.numpy())
                for i, g in enumerate(given):
                    np.testing.assert_array_equal(g.numpy(), values + i)
            np.testing.assert_allclose(*found, rtol=1e-13)


def test_gradients_of_a_loss_are_those_of_a_list_of_it() -> None:
    """``grad(loss, leaves)`` finds where its run begins by a shorter way: same gradients, graphs and refusals."""

    def outcome(wrapped: bool, case: str) -> Any:
        x, w, unused = (torch.from_numpy(np.linspace(a, 2, 6).reshape(2, 3)).requires_grad_() for a in (-1, 0, 1))
        frozen, inner = (w * 2).detach().requires_grad_(), x * w
        torch.tanh(unused)  # whose graph is gone at once
        loss = (inner * torch.tanh(w) + frozen + (unused * 0 if case == "later" else 0)).sum()
        frozen.requires_grad_(case != "frozen")
        inputs = {"none": [], "one": x, "nodes": (inner, w), "twice": [x, w, x], "unused": [x, unused],
                  "frozen": [x, frozen], "number": [x, 3], "dict": {"x": x}}.get(case, [x, w])  # fmt: skip
        options = {"create_graph": case == "second", "allow_unused": True if case == "allowed" else None}
        options["materialize_grads"] = case == "zeros"
        if case in ("allowed", "zeros"):
            inputs = (unused, w)
        try:
            found = torch.autograd.grad([loss] if wrapped else loss, inputs, **options)
            if case == "second":
                found = torch.autograd.grad([sum((g * g).sum() for g in found)], inputs)
        except (RuntimeError, TypeError) as error:
            return str(error)
        grads = found.values() if isinstance(found, dict) else found
        return [None if g is None else (g.numpy().tobytes(), g.stride(), g.requires_grad) for g in grads]

    cases = ("plain", "none", "one", "nodes", "twice", "unused", "frozen", "number", "dict", "allowed", "zeros",
             "later", "second")  # fmt: skip
    for case in cases:
        assert outcome(False, case) == outcome(True, case), case
    assert sum(outcome(False, case).__class__ is str for case in cases) == 4

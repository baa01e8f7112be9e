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
from retrograd.engine import sweep, watchers


@pytest.fixture(autouse=True)
def nobody_watches() -> Iterator[None]:
    """Leave out what other tests of this process still hold."""
    gc.collect()
    others = watchers.LIVE
    watchers.LIVE -= others
    yield
    watchers.LIVE += others


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
    loss.backward()
    recorded = []
    for engine in (nullcontext, full_engine):
        again, loss = random_graph(seed)
        with torch.debug(level="backward") as trace, engine():
            assert sweep.possible() is (engine is nullcontext)
            loss.backward()
        recorded.append(trace.recording)
        for a, b in zip(leaves, again, strict=True):
            assert (a.grad is None) == (b.grad is None)
            assert a.grad is None or a.grad.numpy().tobytes() == b.grad.numpy().tobytes()

    swept, full = (recording.snapshots[0].measures for recording in recorded)
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
    shot = trace.recording.snapshots[-1]
    failed = shot.seq.index(ended.data["failed_node"] - shot.first_seq)
    assert ended.kind == "backward-end"
    assert shot.op[failed] == "MulBackward0"
    assert [e.kind for e in trace.recording.events].count("accumulate") == (late.grad is not None)

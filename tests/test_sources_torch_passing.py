"""Figures of nodes without hooks, in programs made at random, against hooks of PyTorch hung on every node by hand."""

from __future__ import annotations

import math
import random

import pytest

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.passing import latest_first

torch = pytest.importorskip("torch")

STEPS = {
    "add": lambda a, b: a + b,
    "scaled add": lambda a, b: torch.add(a, b, alpha=3),
    "sub": lambda a, b: a - b,
    "residual": lambda a, b: a + torch.tanh(a),
    "twice": lambda a, b: a + a,
    "bias": lambda a, b: a + b[:1],
    "number": lambda a, b: a + 2,
    "mul": lambda a, b: a * torch.sin(b),
    "clone": lambda a, b: a.clone(),
    "view": lambda a, b: a.reshape(-1).view(3, 4),
    "turn": lambda a, b: a.t().contiguous().t(),
    "expand": lambda a, b: a[:1].expand(3, 4) * b,
    "expand to itself": lambda a, b: a.expand(3, 4).sin(),
    "select": lambda a, b: a * b.select(0, 1),
    "split": lambda a, b: torch.cat([part.cos() for part in a.chunk(3)][::-1]),
    "matmul": lambda a, b: torch.sin(a @ b.t()) @ torch.ones(3, 4).to(a),
}


def program(draw):
    """Return the leaves and the loss of a program of random steps."""
    leaves = [torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    tensors = list(leaves)
    for _ in range(12):
        step = draw.choice(sorted(STEPS))
        first, second = draw.choice(tensors[-3:]), draw.choice(tensors)
        tensors.append(STEPS[step](first, second) * 0.9 if draw.random() < 0.3 else STEPS[step](first, second))
    return leaves, (tensors[-1] * tensors[-2]).sum()


def nodes_of(loss):
    """Nodes in the order of a walk."""
    order = [loss.grad_fn]
    for node in order:
        order += [one for one, _ in dict.fromkeys(node.next_functions) if one is not None and one not in order]
    return order


def by_hand(draw):
    """Norm of what arrives at each node and of what it passes on, by hooks of PyTorch."""
    _, loss = program(draw)
    order = nodes_of(loss)
    arrived, passed = {}, {}
    for row, node in enumerate(order):
        node.register_prehook(lambda grads, row=row: arrived.__setitem__(row, float(grads[0].norm())))
        node.register_hook(
            lambda results, _, row=row: passed.__setitem__(
                row, math.sqrt(sum(float(one.norm()) ** 2 for one in results if one is not None))
            )
        )
    names = [node.name().rpartition("::")[2] for node in order]
    loss.backward()
    return names, [arrived[row] for row in range(len(order))], [passed[row] for row in range(len(order))]


@pytest.mark.parametrize("seed", range(40))
def test_figures_of_every_node(seed):
    """Whatever has no hook has the figures that a hook would have seen; the order is one in which nodes can run."""
    torch.manual_seed(seed)
    names, arrived, passed = by_hand(random.Random(seed))
    torch.manual_seed(seed)
    with recording(level="backward") as recorded:
        leaves, loss = program(random.Random(seed))
        loss.backward()
    (snapshot,) = recorded.graphs
    measures = snapshot.measures

    assert snapshot.op == names
    assert measures["grad_norm"] == pytest.approx(arrived, rel=1e-4, abs=1e-5)
    found = [0.0 if norm is None else norm for norm in measures["out_norm"]]
    expected = [0.0 if op == "AccumulateGrad" else norm for op, norm in zip(names, passed, strict=True)]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert sorted(measures["order"]) == list(range(len(snapshot)))
    assert all(measures["order"][start] < measures["order"][end] for start, end, _, _ in snapshot.edges())
    told = {event.data["tensor"]: event.data["grad_norm"] for event in recorded.events if event.kind == "accumulate"}
    norms = [float(leaf.grad.norm()) for leaf in leaves if leaf.grad is not None]
    assert sorted(told.values()) == pytest.approx(sorted(norms), rel=1e-4)


@pytest.mark.parametrize("level", ["backward", "full"])
def test_hooks_of_the_program_between(level):
    """A hook on what a sum adds up changes what arrives there, and nothing of what the sum got."""
    with recording(level=level) as recorded:
        x = torch.ones(4, requires_grad=True)
        h = x * 1
        h.register_hook(lambda gradient: gradient * 10)
        (h.clone() + h.sin().expand(4)).sum().backward()
    (snapshot,) = recorded.graphs
    norms = dict(zip(snapshot.op, snapshot.measures["grad_norm"], strict=True))

    assert norms["AddBackward0"] == norms["CloneBackward0"] == norms["SinBackward0"] == 2
    assert norms["MulBackward0"] == pytest.approx(20 * (1 + math.cos(1)))
    assert torch.Tensor.register_hook.__qualname__ == "Tensor.register_hook"


def test_a_leaf_that_has_a_gradient_or_a_hook():
    """What arrives is told, not what ``.grad`` is in the end."""
    with recording(level="backward") as recorded:
        kept, cleared, plain = (torch.ones(4, requires_grad=True) for _ in range(3))
        kept.grad = torch.ones(4)
        cleared.register_post_accumulate_grad_hook(lambda leaf: setattr(leaf, "grad", None))
        (kept * 2 + cleared * 3 + plain * 4).sum().backward()
    told = {recorded.tensors[e.data["tensor"]].name: e.data for e in recorded.events if e.kind == "accumulate"}

    assert {name: data["grad_norm"] for name, data in told.items()} == {"kept": 4, "cleared": 6, "plain": 8}
    assert {name: data["before"] for name, data in told.items()} == {"kept": "kept", "cleared": "none", "plain": "none"}
    assert (kept.grad.tolist(), cleared.grad) == ([3] * 4, None)


def test_a_long_chain_of_sums():
    """What runs before the one node with a hook is told in time that grows with the chain."""
    x = torch.ones(2, requires_grad=True)
    with recording(level="backward") as recorded:
        h = x.sin()
        for _ in range(40_000):
            h = h + 1
        h.sum().backward()
    (snapshot,) = recorded.graphs

    assert sorted(snapshot.measures["order"]) == list(range(40_003))
    assert set(snapshot.measures["grad_norm"][1:-1]) == {math.sqrt(2)}


def test_runs_that_share_nodes():
    """Each run has the figures of its own, and what it hung up is gone; what is only asked for has not run."""
    calls = []
    with recording(level="backward") as recorded:
        x = torch.ones(3, requires_grad=True)
        h = x.exp().sin()
        for factor in (1.0, 2.0, 4.0):
            (h * factor).sum().backward(retain_graph=True)
        torch.autograd.grad((h * 8).sum(), h, retain_graph=True)
        h.grad_fn.register_hook(lambda results, gradients: calls.append(float(gradients[0][0])))
    h.sum().backward()
    norms = [dict(zip(snapshot.op, snapshot.measures["grad_norm"], strict=True)) for snapshot in recorded.graphs]

    sines, exponentials = ([each[op] for each in norms[:3]] for op in ("SinBackward0", "ExpBackward0"))
    assert sines == pytest.approx([factor * math.sqrt(3) for factor in (1, 2, 4)])
    assert exponentials == pytest.approx([factor * math.sqrt(3) * abs(math.cos(math.e)) for factor in (1, 2, 4)])
    assert norms[3]["SinBackward0"] is norms[3]["ExpBackward0"] is None
    assert calls == [1.0]
    assert all(len(snapshot.measures["grad_norm"]) == len(snapshot) for snapshot in recorded.graphs)


def test_recordings_one_after_another():
    """A graph like one of an earlier recording has its picture, and the tables of this one its names."""

    def step():
        with recording(level="backward") as recorded:
            model(torch.ones(2, 3)).sum().backward()
        return recorded

    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    recordings = [step() for _ in range(4)]
    found = [
        (each.graphs[0].name, each.graphs[0].scope, [tensor.name for tensor in each.tensors], len(each.events))
        for each in recordings
    ]

    assert found[0] == found[1] == found[2] == found[3]
    assert {"0.weight", "2.bias"} <= {name.removeprefix("model.") for name in found[3][2]}


def test_large_graphs_are_not_collected():
    """What was found of earlier graphs is remembered as long as all of them are few and small; the latest always."""
    assert latest_first("a", ["b", "c"], lambda graph: 3) == ["a", "b", "c"]
    assert len(latest_first("a", ["b"] * 100, lambda graph: 3)) == 8
    assert latest_first("a", ["b", "c"], {"a": 30_000, "b": 9_000, "c": 9_000}.__getitem__) == ["a", "b"]
    assert latest_first("a", ["b"], {"a": 1_000_000, "b": 1}.__getitem__) == ["a"]

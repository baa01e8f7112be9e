"""Recordings of PyTorch's backward runs at level ``backward``: measures of nodes, gradients that arrive, failures."""

from __future__ import annotations

import gc
import math
import weakref

import pytest

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.event_data import MEASURES
from retrograd.inspect.sources.torch_ import problems
from retrograd.inspect.sources.torch_.backward.node_hooks import NodeHooks

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _no_problem_of_ours():
    """Nothing went wrong behind the program's back."""
    problems.PROBLEMS.clear()
    yield
    assert problems.PROBLEMS == []


def recorded_run(run, level="backward"):
    """What is recorded while a program runs."""
    with recording(level=level) as recorded:
        run()
    return recorded


def test_measures_against_hooks_of_pytorch():
    """Norm, extremes, mean, zeros of what arrives; norm of what is passed on; order; time."""
    torch.manual_seed(0)
    w = torch.randn(4, 3, requires_grad=True)
    kept = {}

    def run():
        h = torch.relu(torch.randn(5, 4) @ w)
        h.retain_grad()
        loss = (h * h.sum(1, keepdim=True)).mean()
        loss.backward()
        kept["h"] = h.grad

    (snapshot,) = recorded_run(run).graphs
    rows = {op: row for row, op in enumerate(snapshot.op)}
    relu, leaf = rows["ReluBackward0"], rows["AccumulateGrad"]
    measures = snapshot.measures

    assert set(measures) == set(MEASURES)
    assert measures["grad_norm"][leaf] == pytest.approx(float(w.grad.norm()), rel=1e-6)
    assert measures["grad_norm"][relu] == pytest.approx(float(kept["h"].norm()), rel=1e-6)
    assert measures["grad_min"][relu] == pytest.approx(float(kept["h"].min()))
    assert measures["grad_mean"][relu] == pytest.approx(float(kept["h"].mean()), rel=1e-5)
    assert measures["out_norm"][rows["MmBackward0"]] == measures["grad_norm"][leaf]
    assert measures["out_zero_share"][relu] > 0
    assert sorted(measures["order"]) == list(range(len(snapshot)))
    assert all(time > 0 for row, time in enumerate(measures["time_us"]) if row != leaf)


def test_nodes_that_only_reshape_have_no_hook():
    """Their figures are those of what arrives behind them, as PyTorch tells it; they ran, in a time not known."""
    torch.manual_seed(0)
    kept = {}

    def run():
        x = torch.randn(6, 4, requires_grad=True).exp()
        turned = x.t()
        flat = turned.reshape(-1)
        for name, tensor in (("x", x), ("turned", turned), ("flat", flat)):
            tensor.retain_grad()
            kept[name] = tensor
        (flat * flat).sum().backward()

    (snapshot,) = recorded_run(run).graphs
    rows = {op: row for row, op in enumerate(snapshot.op)}
    for op, name in (("TBackward0", "turned"), ("ExpBackward0", "x")):
        grad, row = kept[name].grad, rows[op]
        assert snapshot.measures["grad_norm"][row] == pytest.approx(float(grad.norm()))
        assert snapshot.measures["grad_min"][row] == pytest.approx(float(grad.min()))
    quiet = rows["TBackward0"]
    assert snapshot.measures["out_norm"][quiet] == snapshot.measures["grad_norm"][rows["ExpBackward0"]]
    assert (snapshot.measures["time_us"][quiet], snapshot.measures["started_us"][quiet]) == (None, None)
    assert sorted(snapshot.measures["order"]) == list(range(len(snapshot)))
    order = snapshot.measures["order"]
    assert all(order[start] < order[end] for start, end, _, _ in snapshot.edges())


def test_a_hook_behind_a_view():
    """What the program's hook changes is not said of the view before it."""

    def run():
        x = torch.ones(3, 2, requires_grad=True)
        (x.t() * torch.ones(2, 3)).sum().backward()
        x.register_hook(lambda grad: grad * 100)
        (x.t() * torch.ones(2, 3)).sum().backward()
        h = x * 1
        h.register_hook(lambda grad: grad * 100)
        (h.t() * torch.ones(2, 3)).sum().backward()

    snapshots = recorded_run(run, "full").graphs
    for snapshot, changed in zip(snapshots, (1, 100, 100), strict=True):
        view = snapshot.op.index("TBackward0")
        assert snapshot.measures["grad_norm"][view] == pytest.approx(math.sqrt(6))
        assert snapshot.measures["grad_norm"][view + 1] == pytest.approx(changed * math.sqrt(6))


def test_a_view_before_what_is_asked_for():
    """A node whose gradient is returned does not run; the view before it did."""

    def run():
        x = torch.ones(3, 2, requires_grad=True)
        h = x * 2
        torch.autograd.grad((h.t() * torch.ones(2, 3)).sum(), h)

    (snapshot,) = recorded_run(run).graphs
    view = snapshot.op.index("TBackward0")
    assert snapshot.measures["order"][view] is not None
    assert snapshot.measures["grad_norm"][view] == pytest.approx(math.sqrt(6))


def test_equal_graphs_are_read_once_and_others_anew():
    """Steps with equal graphs, one whose sum scales what it passes on, and one of another shape."""

    def run():
        for size, factor in ((3, 1), (3, 1), (3, 5), (4, 5)):
            h = torch.ones(size, requires_grad=True) * 1
            torch.add(h * 2, h, alpha=factor).sum().backward()

    snapshots = recorded_run(run).graphs
    norms = [snapshot.measures["out_norm"][snapshot.op.index("AddBackward0")] for snapshot in snapshots]
    sums = [math.sqrt(size * (1 + factor * factor)) for size, factor in ((3, 1), (3, 1), (3, 5), (4, 5))]
    assert norms == pytest.approx(sums)


def test_results_that_add_up_are_told_apart():
    """Where two nodes give to a third, each is measured by itself."""

    def run():
        x = torch.ones(3, requires_grad=True)
        h = x * 1
        (h * 2 + h * 5).sum().backward()

    (snapshot,) = recorded_run(run).graphs
    norms = [snapshot.measures["out_norm"][row] for row, op in enumerate(snapshot.op) if op == "MulBackward0"]

    assert sorted(norms) == pytest.approx([2 * math.sqrt(3), 5 * math.sqrt(3), 7 * math.sqrt(3)])


def test_bad_gradients_are_counted():
    """NaN and infinities, with extremes of the others."""

    def run():
        x = torch.tensor([0.0, 0.0, 4.0], requires_grad=True)
        y = torch.sqrt(x) * torch.tensor([0.0, 1.0, 1.0])
        y.sum().backward()

    recorded = recorded_run(run)
    (snapshot,) = recorded.graphs
    root = snapshot.op.index("SqrtBackward0")
    (arrived,) = [event.data for event in recorded.events if event.kind == "accumulate"]

    assert (snapshot.measures["nan_count"][root], snapshot.measures["out_nan_count"][root]) == (0, 1)
    assert snapshot.measures["out_inf_count"][root] == 1
    assert (arrived["grad"]["nan"], arrived["grad"]["first_bad"]) == (1, [0])


def test_accumulate():
    """What the gradient was before, and the version of the leaf."""
    w = torch.ones(2, requires_grad=True)

    def run():
        for _ in range(2):
            (w * 3).sum().backward()
        with torch.no_grad():
            w.sub_(0.1)
        w.grad.zero_()
        (w * 3).sum().backward()

    recorded = recorded_run(run, "full")
    arrived = [event.data for event in recorded.events if event.kind == "accumulate"]

    assert [data["before"] for data in arrived] == ["none", "kept", "zero"]
    assert [data["version"] for data in arrived] == [0, 0, 1]
    assert {recorded.tensors[data["tensor"]].name for data in arrived} == {"w"}


def test_what_is_asked_for():
    """Roots, inputs, retain_graph and create_graph, and runs inside runs."""

    def run():
        x = torch.ones(2, requires_grad=True)
        y = (x**3).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        torch.autograd.backward([first.sum(), y], inputs=[x])

    recorded = recorded_run(run, "full")
    grad, back = (event.data for event in recorded.events if event.kind == "backward")

    assert (grad["api"], grad["create_graph"], grad["retain_graph"]) == ("grad", True, True)
    assert [recorded.tensors[number].name for number in grad["inputs"]] == ["x"]
    assert (back["api"], back["create_graph"], len(back["roots"])) == ("backward", False, 2)
    assert (grad["run"], back["run"]) == (0, 1)


class Failing(torch.autograd.Function):
    """Raises in backward."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("broken rule")


def test_failed_node():
    """A run that raises names the node that ran; hooks are gone and the error is the program's."""
    x = torch.ones(2, requires_grad=True)
    with recording(level="backward") as recorded, pytest.raises(ValueError, match="broken rule"):
        Failing.apply(x * 1).sum().backward()
    (snapshot,) = recorded.graphs
    ended = recorded.events[-1].data
    failed = snapshot.seq.index(ended["failed_node"] - snapshot.first_seq)

    assert snapshot.op[failed] == "FailingBackward"
    assert ended["error_type"] == "ValueError"


def test_graph_dies_as_ever():
    """Nothing of a graph is held after the run, also when it is retained and run again."""
    with recording(level="full"):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        loss = y.sum()
        loss.backward(retain_graph=True)
        loss.backward()
        seen = [weakref.ref(x), weakref.ref(y), weakref.ref(loss)]
        del x, y, loss
        gc.collect()

        assert [reference() for reference in seen] == [None] * 3


def test_hooks_are_gone():
    """After the run no hook of ours is left on a node."""
    calls = []
    with recording(level="backward"):
        x = torch.ones(2, requires_grad=True)
        loss = (x * 2).sum()
        loss.backward(retain_graph=True)
        before = len(calls)
    loss.grad_fn.register_prehook(lambda grads: calls.append(grads))
    loss.backward()

    assert len(calls) == before + 1
    assert loss.grad_fn.next_functions[0][0].name() == "MulBackward0"


def test_hooks_of_the_program_beside_ours():
    """Hooks that a program hangs on nodes before and during a run are called as alone; their handles remove them."""

    def run():
        called = []
        x = torch.ones(2, requires_grad=True)
        h = x * 2
        loss = h.sin().sum()
        first = h.grad_fn.register_prehook(lambda grads: called.append("first"))
        gone = loss.grad_fn.register_hook(lambda results, grads: called.append("gone"))

        def during(grads):
            called.append("during")
            late.append(h.grad_fn.register_prehook(lambda grads: called.append("late")))
            gone.remove()

        late = []
        handle = loss.grad_fn.register_prehook(during)
        loss.backward(retain_graph=True)
        handle.remove()
        first.remove()
        loss.backward(retain_graph=True)
        late.pop().remove()
        loss.backward()
        return called

    with recording(level="backward"):
        watched = run()

    assert watched == run() == ["during", "first", "late", "late"]


def test_hooks_with_handles():
    """Where PyTorch does not let hooks be entered without handles, they are taken off by these."""
    called = []
    loss, hooks = torch.ones(2, requires_grad=True).sum(), NodeHooks()
    hooks.before([(loss.grad_fn, called.append)])
    loss.backward(retain_graph=True)
    hooks.remove()
    loss.backward()

    assert len(called) == 1


def test_a_hook_that_closes_over_a_graph_is_let_go_with_its_tensor() -> None:
    """What a hook on a tensor holds dies with that tensor, without the garbage collector, as it does unwatched."""
    w = torch.randn(3, 3, requires_grad=True)
    inner = []

    def layer(x):
        z = torch.tanh(x @ w)
        z0 = z.detach().requires_grad_(True)
        f0 = torch.tanh(z0 @ w)
        inner.append(weakref.ref(f0))
        z.register_hook(lambda grad: torch.autograd.grad(f0, z0, grad, retain_graph=True)[0] + grad)
        return z

    gc.collect()
    gc.disable()
    try:
        with recording(level="full") as recorded:
            for _ in range(4):
                loss = layer(torch.randn(2, 3)).sum()
                loss.backward()
                del loss
            assert [reference() for reference in inner] == [None] * 4
    finally:
        gc.enable()
    ran = [event for event in recorded.events if event.kind == "hook" and event.data["action"] == "ran"]
    assert len(ran) == 4

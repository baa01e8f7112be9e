"""Recordings of PyTorch programs at level ``full``: every call with its tensors, names and values."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.torch_ import problems
from retrograd.inspect.sources.torch_.calls import usual_calls

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _no_problem_of_ours():
    """Nothing went wrong behind the program's back."""
    problems.PROBLEMS.clear()
    yield
    assert problems.PROBLEMS == []


def events_of(run, *kinds, level="full"):
    """The events of some kinds that a program leaves, and the recording."""
    with recording(level=level) as recorded:
        run()
    return [event for event in recorded.events if not kinds or event.kind in kinds], recorded


def test_operation():
    """Inputs and outputs by number, as the line spells them; nodes, saved tensors, ranges and sums."""

    def run():
        v = torch.tensor([1.0, 4.0], requires_grad=True)
        h = torch.sqrt(v) * v
        h.sum()

    events, recorded = events_of(run, "operation")
    made, root, product, total = events
    names = [facts.name for facts in recorded.tensors]

    assert [event.op for event in events] == ["tensor", "sqrt", "mul", "sum"]
    assert names == ["v", "", "h", ""]
    assert root.data["names"] == ["v"]
    assert product.data["names"] == ["torch.sqrt(v)", "v"]
    assert product.data["inputs"] == [*root.data["outputs"], *made.data["outputs"]]
    assert (root.data["nodes"], product.data["nodes"]) == ([0, 1], [1, 2])
    assert root.data["saves"] == root.data["outputs"]  # sqrt keeps its result
    assert product.data["saves"] == sorted(product.data["inputs"])
    assert product.data["range"] == [[1.0, 8.0]]
    assert product.data["checksum"] == [9.0]
    assert recorded.tensors[2].made_by == recorded.events.index(product)
    assert total.source.function == "run"


def test_arguments_by_keyword_alone():
    """A call whose tensors are all given by keyword, on values that a cut left, is one like any other."""

    def run():
        w = torch.ones(3, requires_grad=True)
        known = torch.nn.functional.relu(input=w).detach()
        torch.sub(input=torch.add(input=known, other=1.0), other=w).sum().backward()

    events, _ = events_of(run, "operation", "cut")

    assert [event.op for event in events] == ["ones", "relu", "detach", "add", "sub", "sum"]


def test_a_module_that_keeps_a_stale_view():
    """A view whose base was written to since refuses to say whether it is a leaf: nothing is lost, nothing raised."""

    def run():
        net = torch.nn.Linear(2, 2)
        flat = torch.ones(4, requires_grad=True) * 1.0
        net.pieces = flat.split(2)
        with torch.no_grad():
            flat.mul_(2.0)
        net(torch.ones(1, 2)).sum().backward()

    events, _ = events_of(run, "backward-end")

    assert len(events) == 1


@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        (lambda h: h.detach(), "detach"),
        (lambda h: h.data, "data"),
        (lambda h: h.sum().item(), "item"),
        (lambda h: h.tolist(), "tolist"),
        (lambda h: h.argmax(), "nondifferentiable"),
        (lambda h: h.long(), "integer"),
        (lambda h: torch.no_grad()(torch.relu)(h), "no_grad"),
        (lambda h: torch.inference_mode()(torch.relu)(h), "inference"),
    ],
)
def test_cuts(cut, reason):
    """Whatever leaves the graph says how."""
    weight = torch.ones(3, requires_grad=True)
    cuts, _ = events_of(lambda: cut(weight * 2), "cut")

    assert [event.data["reason"] for event in cuts] == [reason]
    assert cuts[0].data["stack"][0]["function"] == "<module>"  # a lambda is a part of what it stands in


@torch.no_grad()
def frozen(v):
    """A function that never records."""
    return v * 2


def test_writes():
    """In-place writes say what they hit, how they got there, and what the version counter made of it."""

    def run():
        h = torch.ones(4)
        h += 1
        h.data.clamp_(0.0, 1.0)
        h[:2].mul_(3)
        torch.add(h, 1, out=h)
        h.expand(3, 4)[0] = 5.0

    events, recorded = events_of(run, "inplace")
    hit = [recorded.tensors[event.data["target"]] for event in events]

    assert [event.op for event in events] == ["add", "clamp", "mul", "add", "setitem"]
    assert [event.data["through"] for event in events] == ["", "data", "view", "out", "view"]
    assert len({facts.storage for facts in hit}) == 1
    assert events[0].data["version"] == [0, 1]
    assert [event.data.get("overlap", False) for event in events] == [False] * 4 + [True]


def test_repeated_indices():
    """A write that hits a place twice says so; one that adds up does not."""

    def run():
        table, index = torch.zeros(4), torch.tensor([0, 0, 1])
        table[index] = torch.ones(3)
        table[torch.tensor([0, 1, 2])] = torch.ones(3)
        table.index_put_((index,), torch.ones(3), accumulate=True)

    events, _ = events_of(run, "inplace")

    assert [event.data.get("duplicates") for event in events] == [1, None, None]


def test_values_that_tell():
    """Where a NaN is born, what went in, where the slope is infinite, and how much is flat."""

    def run():
        rate = torch.tensor([[1.0, 0.0], [2.0, -1.0]])
        torch.log(rate)
        torch.tanh(torch.tensor([0.1, 50.0]))

    (_, log, _, tanh), _ = events_of(run, "operation")
    given, result = (log.data["values"][str(log.data[key][0])] for key in ("inputs", "outputs"))

    assert (result["nan"], result["inf"], result["first_bad"], result["bad_rows"]) == (1, 1, [1, 1], [0, 1])
    assert (given["min"], given["zero"], given["pole"]) == (-1.0, 1, [0, 1])
    assert tanh.data["flat_share"] == 0.5


def test_leaves():
    """Frozen parameters, cleared gradients, and looks at gradients that are not there."""
    parameter = torch.ones(2, requires_grad=True)

    def run():
        h = parameter * 2
        h.sum().backward()
        parameter.grad.zero_()
        parameter.grad = None
        parameter.requires_grad_(False)
        assert parameter.grad is None

    events, recorded = events_of(run, "leaf", "read")

    assert [event.data.get("change", "read") for event in events] == [
        "grad-zeroed",
        "grad-cleared",
        "requires_grad",
        "read",
    ]
    assert events[2].data["value"] is False
    assert {recorded.tensors[event.data["tensor"]].name for event in events} == {"parameter"}


def test_failed_call():
    """A call that raises is told with its message, and raises as ever."""
    leaf = torch.ones(2, requires_grad=True)
    with recording(level="full") as recorded, pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.add_(1)

    (call,) = [event for event in recorded.events if event.written == "add_"]
    assert "leaf Variable" in call.data["error"]
    assert call.data["names"] == ["leaf"]


def test_nothing_is_kept_alive():
    """Tensors and graphs die when the program lets them go, also while they are being recorded."""
    with recording(level="full") as recorded:
        weight = torch.ones(2, requires_grad=True)
        h = weight * 2
        seen = [weakref.ref(weight), weakref.ref(h)]
        del weight, h
        gc.collect()

        assert [reference() for reference in seen] == [None] * 2
    assert len(recorded.tensors) == 2


def test_transforms_are_left_alone():
    """Inside ``vmap`` and under dispatch modes no value is read."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        ops: list[str] = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.ops.append(str(func))
            return func(*args, **(kwargs or {}))

    def run():
        torch.func.vmap(torch.log)(torch.ones(3, 2))
        with Counting():
            torch.ones(2) + 1

    run()
    alone = list(Counting.ops)
    Counting.ops.clear()
    events_of(run)

    assert Counting.ops == alone


def training():
    """A few steps of everything usual, and the gradients they end with."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return [parameter.grad.clone() for parameter in model.parameters()] + [torch.rand(3)]


@pytest.mark.parametrize("level", ["graph", "backward", "full"])
def test_results_are_the_same_to_the_bit(level):
    """Gradients, parameters and random numbers do not change by being watched."""
    alone = training()
    with recording(level=level):
        watched = training()

    assert all(torch.equal(one, other) for one, other in zip(alone, watched, strict=True))


def test_short_names_are_operations():
    """Functions with names of one letter are seen like others."""
    events, _ = events_of(lambda: torch.ones(2, 3, requires_grad=True).t(), "operation")

    assert [event.written for event in events] == ["ones", "t"]


def test_bytes_of_earlier_steps():
    """What nodes of one step keep does not change when those of the next one keep less, or more."""
    w = torch.ones(4, requires_grad=True)
    kinds = [torch.bool] * 3 + [torch.int64, torch.bool]

    def run():
        for kind in kinds:
            (w * torch.ones(4, dtype=kind)).sum().backward()

    _, recorded = events_of(run)

    found = [snapshot.saved_bytes[snapshot.op.index("MulBackward0")] for snapshot in recorded.graphs]
    assert found == [4 * kind.itemsize for kind in kinds]


def test_where_tensors_stand():
    """At positions, under keywords and in lists, also where the same function got others before."""

    def run():
        a, b = torch.ones(2), torch.zeros(2)
        for left, right in ((a, b), (b, a), (a, 2)):
            torch.add(left, right)
            torch.add(input=left, other=right)
        torch.stack([a, b])
        torch.stack((b, a), 1)
        torch.stack(tensors=[b, b])
        torch.ones(2).expand((3, 2))

    events, recorded = events_of(run, "operation")
    numbers = {facts.name: number for number, facts in enumerate(recorded.tensors) if facts.name}
    a, b = numbers["a"], numbers["b"]

    found = [event.data["inputs"] for event in events[2:-2]]
    assert found == [[a, b], [a, b], [b, a], [b, a], [a], [a], [a, b], [b, a], [b, b]]
    assert events[-1].data["arguments"] == {"1": [3, 2]}


def test_memory_that_a_graph_keeps():
    """A tensor that the graph gives back lies in the memory that it saved, although the tensor itself has gone."""

    def run():
        x = torch.ones(3, requires_grad=True)
        total = x.exp().sum()
        kept = total.grad_fn.next_functions[0][0]._saved_result
        return kept * 2

    events, recorded = events_of(run, "operation")
    made, read = events[1], events[-1]

    assert (made.op, read.op) == ("exp", "mul")
    storages = [recorded.tensors[numbers[0]].storage for numbers in (made.data["outputs"], read.data["inputs"])]
    assert storages[0] == storages[1]
    assert made.data["outputs"] != read.data["inputs"]


def test_classes_of_a_program_may_go():
    """A class of tensors that a program made is not kept for its calls having been seen."""

    def run():
        class Mine(torch.Tensor):
            pass

        (torch.ones(2).as_subclass(Mine) + 1).sum()
        return weakref.ref(Mine)

    with recording(level="full"):
        known = run()
    gc.collect()

    assert known() is None


def test_saved_bytes_are_those_of_all_memory_that_nodes_hold() -> None:
    """What nodes keep without a name of the program's (a dropout's mask, a softmax, sums of attention) counts, once."""
    held: dict[int, int] = {}

    def packed(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        held[storage.data_ptr()] = tensor.nbytes
        return tensor

    def program() -> Any:
        torch.manual_seed(0)
        w = torch.randn(40, 40, requires_grad=True)
        h = torch.nn.functional.dropout(w, 0.5)
        q = h[None, None]
        y = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        return w, torch.nn.functional.cross_entropy(y[0, 0], torch.arange(40)) + h.sigmoid().sum()

    with torch.autograd.graph.saved_tensors_hooks(packed, lambda kept: kept):
        kept = program()  # alive, so that no memory is used twice
    with recording(level="full") as recorded:
        _, loss = program()
        loss.backward()
    measure = recorded.graphs[0].measures["saved_bytes"]

    assert sum(value or 0 for value in measure) == sum(held.values())
    del kept


def usual_and_others():
    """A step of calls that are recorded in one go, and of others beside them on the same lines."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    head, scale = torch.nn.Linear(8, 4), torch.full((4,), 0.5, requires_grad=True)

    def of(x, *, power):
        return torch.relu(head(x)).pow(power) * scale

    for power in (2.0, 3.0, 2.0):
        x = layer(torch.randn(2, 3, 8))
        y = of(x, power=power)
        layer.eval() if power == 3.0 else layer.train()
        z = torch.nn.functional.dropout(y, 0.5) + torch.nn.functional.dropout(y.double(), 0.0).float()
        with torch.no_grad():
            y.detach().add(1).mT
        loss = z.log1p().sub_(1 / (y * 0)).clamp(max=3).mean() if power == 3.0 else z.sum()
        loss.backward()


def test_calls_recorded_in_one_go_are_recorded_alike(monkeypatch):
    """The same events, tensors and saved bytes as where every call goes the general way."""
    found = []
    for usual in (True, False):
        if not usual:
            monkeypatch.setattr(usual_calls.UsualCalls, "record", lambda *_: False)
        torch.manual_seed(0)
        with recording(level="full") as recorded:
            usual_and_others()
        events = [event.to_plain() for event in recorded.events if event.kind == "operation"]
        graphs = [graph.saved_bytes for graph in recorded.graphs]
        found.append((events, [repr(facts) for facts in recorded.tensors], graphs))

    usual, general = found
    assert len(usual[0]) > 100
    assert repr(usual) == repr(general)

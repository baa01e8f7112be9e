"""What a recording of our engine says of backward runs, leaves, hooks, custom Functions, owners and checkpoints."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from recorded_pair import of_kind, record

import retrograd as rg
from retrograd.engine import observe
from retrograd.engine.overriding import overrides
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.journal import Journal

STEP = """import torch
torch.manual_seed(0)
x = torch.randn(6, 4)
w = torch.randn(4, 3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
loss = (torch.relu(x @ w + b) ** 2).mean()
loss.backward()
"""


def test_measures_of_nodes():
    """Figures of the gradient at each node are those of the gradient itself."""
    recorded, _ = record(STEP, "retrograd", "backward")
    snapshot = recorded.graphs[0]
    torch = pytest.importorskip("torch")
    x, w, b = (rg.randn(6, 4) for _ in range(3))
    namespace = {}
    exec(STEP.replace("import torch", "import retrograd as torch"), namespace)
    x, w, b = (torch.tensor(namespace[name].detach().numpy()) for name in ("x", "w", "b"))
    w.requires_grad_(True)
    b.requires_grad_(True)
    (torch.relu(x @ w + b) ** 2).mean().backward()
    row = snapshot.name.index("w")
    grad = w.grad

    measured = {name: column[row] for name, column in snapshot.measures.items()}
    assert measured["grad_norm"] == pytest.approx(float(grad.norm()), rel=1e-5)
    assert measured["grad_min"] == pytest.approx(float(grad.min()), rel=1e-5)
    assert measured["grad_max"] == pytest.approx(float(grad.max()), rel=1e-5)
    assert measured["grad_mean"] == pytest.approx(float(grad.mean()), rel=1e-4, abs=1e-7)
    assert measured["zero_share"] == pytest.approx(float((grad == 0).float().mean()))
    assert sorted(snapshot.measures["order"]) == list(range(len(snapshot)))
    assert all(time is not None and time > 0 for time in snapshot.measures["time_us"])


def test_saved_bytes_count_each_storage_once():
    """A tensor that two nodes keep counts for the first of them."""
    with recording(level="backward") as recorded:
        w = rg.ones(100, requires_grad=True)
        h = rg.exp(w)
        (h * h).sum().backward()
    snapshot = recorded.graphs[0]

    assert sum(snapshot.saved_bytes) == 800
    assert sum(snapshot.measures["saved_bytes"]) == 400


@pytest.mark.parametrize("level", ["graph", "backward", "full"])
def test_gradients_are_the_same_to_the_bit(level):
    """Recording changes no result."""
    plain, watched = {}, {}
    program = STEP.replace("import torch", "import retrograd as torch")
    exec(program, plain)
    with recording(level=level):
        exec(program, watched)

    for name in ("w", "b"):
        assert plain[name].grad.numpy().tobytes() == watched[name].grad.numpy().tobytes()


def test_nothing_is_kept_alive():
    """Tensors, arrays and nodes die as they would alone, inside the block and without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        with recording(level="full"):
            w = rg.ones(50, requires_grad=True)
            h = rg.exp(w)
            loss = h.detach().sum() + (h * w).sum()
            refs = [weakref.ref(h), weakref.ref(h._array), weakref.ref(loss.grad_fn), weakref.ref(w)]
            loss.backward()
            refs.append(weakref.ref(w.grad))
            del h, loss, w
            assert [ref() for ref in refs] == [None] * 5
    finally:
        gc.enable()


def test_failed_run():
    """A run that raises says at which node; the figures of what ran before are there."""
    program = STEP.replace("loss =", "h = torch.exp(x @ w)\ny = h * 2\nh += 1\nloss = y.sum() + h.sum()\n#")
    recorded, error = record(program, "retrograd", "backward")
    end = of_kind(recorded, "backward-end")[0]
    snapshot = recorded.graphs[0]

    assert "modified by an inplace operation" in str(error)
    assert end.data["error_type"] == "RuntimeError"
    row = [None if number is None else number + snapshot.first_seq for number in snapshot.seq].index(
        end.data["failed_node"]
    )
    assert snapshot.op[row] == "ExpBackward0"
    assert snapshot.measures["grad_norm"][0] == 1.0


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        ("(w * 2).backward()", "scalar"),
        ("x.sum().backward()", "does not require grad"),
        ("f(loss, [u])", "not have been"),
    ],
)
def test_refused_calls_of_backward(call, phrase):
    """A call that never came to run, or whose result was refused, is there with its error."""
    program = STEP.replace("loss.backward()", f"f = torch.autograd.grad\nu = torch.ones(1, requires_grad=True)\n{call}")
    recorded, error = record(program, "retrograd")
    event = of_kind(recorded, "backward-end")[-1]

    assert phrase in str(error)
    assert phrase in event.data["error"]
    assert event.source.line == 9


def test_accumulation():
    """Each gradient that arrives says what was there, and the version of the leaf."""
    program = STEP + "with torch.no_grad():\n    w -= 0.1 * w.grad\nb.grad.zero_()\n(x @ w + b).sum().backward()\n"
    recorded, _ = record(program, "retrograd")
    seen = [
        (recorded.tensors[event.data["tensor"]].name, event.data["before"], event.data["version"])
        for event in of_kind(recorded, "accumulate")
    ]

    assert sorted(seen[:2]) == [("b", "none", 0), ("w", "none", 0)]
    assert sorted(seen[2:]) == [("b", "zero", 0), ("w", "kept", 1)]
    assert [event.data["change"] for event in of_kind(recorded, "leaf")] == ["grad-zeroed"]


def test_nonfinite_gradient():
    """A gradient with a NaN is counted, with its place, and its norm is NaN."""
    program = "import torch\nw = torch.tensor([1.0, 0.0], requires_grad=True)\n((w * 0) / w).sum().backward()\n"
    recorded, _ = record(program, "retrograd", "backward")
    (event,) = of_kind(recorded, "accumulate")

    assert math.isnan(event.data["grad_norm"])
    assert (event.data["grad"]["nan"], event.data["grad"]["first_bad"]) == (1, [1])


def test_hooks():
    """Registered, ran (and changed the gradient in place), removed."""
    program = """import torch
w = torch.ones(3, requires_grad=True)
def halve(g):
    return g * 0.5
def spoil(g):
    g.mul_(3.0)
first = w.register_hook(halve)
second = w.register_hook(spoil)
(w * 2).sum().backward()
first.remove()
"""
    recorded, _ = record(program, "retrograd", "backward")
    seen = [
        (e.data["action"], e.data["hook"], e.data.get("returned"), e.data.get("in_place"))
        for e in of_kind(recorded, "hook")
    ]

    assert seen == [
        ("registered", "halve", None, None),
        ("registered", "spoil", None, None),
        ("ran", "halve", True, None),
        ("ran", "spoil", False, True),
        ("removed", "halve", None, None),
    ]


def test_custom_function():
    """What forward was given, kept on ctx and changed, and how many gradients backward returned."""
    program = """import torch
class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        square = x * x
        ctx.square = square
        x.mul_(1.0)
        return square * scale
    @staticmethod
    def backward(ctx, g):
        return g * ctx.square
x = torch.ones(2, requires_grad=True) * 1.0
Odd.apply(x, 2.0).sum().backward()
"""
    recorded, error = record(program, "retrograd", "backward")
    forward, backward = of_kind(recorded, "function")

    assert "incorrect number of gradients" in str(error)
    assert forward.data["kept"] == {"square": "intermediate"}
    assert forward.data["kept_lines"] == {"square": 6}
    assert forward.data["mutated"] == forward.data["inputs"]
    assert (backward.data["argument_count"], backward.data["gradient_count"]) == (2, 1)
    assert forward.data["parameters"] == ["x", "scale"]


def test_modules_and_optimizers():
    """Parameters by name of their module, and what an optimizer does to them, as one event each."""
    program = """import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
"""
    recorded, _ = record(program, "retrograd")
    (module,) = of_kind(recorded, "module")
    actions = [event.data["action"] for event in of_kind(recorded, "optimizer")]

    assert list(module.data["parameters"]) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [recorded.tensors[n].name for n in module.data["parameters"].values()] == list(module.data["parameters"])
    assert actions == ["made", "zero_grad", "step"]
    assert not [event for event in of_kind(recorded, "inplace") if event.source.line == 6]
    assert {"model/0", "model/1"} <= set(recorded.graphs[0].scope)


def test_checkpoint():
    """A checkpointed block and its second run frame the same calls, up to where enough is there again."""
    program = """import torch
w = torch.ones(3, requires_grad=True)
def block(v):
    return torch.tanh(v * w).exp()
torch.utils.checkpoint.checkpoint(block, w * 1.0, use_reentrant=False).sum().backward()
"""
    recorded, error = record(program, "retrograd")
    spans = [event.data for event in of_kind(recorded, "checkpoint") if event.data["action"] == "ended"]
    inside = [[event.op for event in recorded.events[span["first"] : span["end"]]] for span in spans]

    assert error is None
    assert inside == [["mul", "tanh", "exp"], ["mul", "tanh"]]


def test_threads_and_nested_recordings():
    """Another thread is seen by a recording of all threads only, and an inner recording ends without harm."""

    def work():
        w = rg.ones(2, requires_grad=True)
        (w * 2).sum().backward()

    with recording(level="full") as everything, recording(level="full", every_thread=False) as mine:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(of_kind(everything, "backward")) == 1
    assert mine.events == []


def test_double_backward_and_reentrance():
    """Second order and a backward inside a hook are recorded and right."""
    with recording(level="full") as recorded:
        x = rg.tensor([2.0], requires_grad=True)
        (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
        inner = rg.ones(1, requires_grad=True)

        @rg.enable_grad()
        def start_another(_):
            (inner * 2).sum().backward()

        x.register_hook(start_another)
        g.sum().backward()

    assert x.grad.item() == pytest.approx(12.0)
    assert inner.grad.item() == 2.0
    assert [event.data.get("nested", False) for event in of_kind(recorded, "backward")] == [False, False, True]
    assert not of_kind(recorded, "problem")


def test_deep_graph():
    """A graph of 20,000 operations is recorded at level full without recursion."""
    with recording(level="full") as recorded:
        x = rg.ones(1, requires_grad=True)
        y = x
        for _ in range(20_000):
            y = y * 1.0
        y.backward()

    assert recorded.graphs[0].measures["grad_norm"][-1] == 1.0
    assert np.isfinite(x.grad.item())


class _Writes:
    """An observer of writes."""

    def __init__(self, *, hears_updates: bool) -> None:
        self.hears_updates = hears_updates
        self.seen: list[str] = []

    def inplace(self, op: object, args: object, node: object, tensor: object, inputs: object) -> None:
        self.seen.append(op.name)


def test_updates_of_an_optimizer_are_told_to_those_alone_who_hear_them() -> None:
    """A profiler hears each write of an optimizer; a recording, of which it is one event, is not told."""
    w = rg.ones(3, requires_grad=True)
    optimizer = rg.optim.SGD([w], lr=0.5)
    w.sum().backward()
    for others in ([], [_Writes(hears_updates=True)]):
        deaf = _Writes(hears_updates=False)
        for one in (deaf, *others):
            observe.add(one)
        optimizer.step()
        w.grad.mul_(1.0)
        for one in (deaf, *others):
            observe.remove(one)
        assert [one.seen for one in others] == [["add", "mul"]] * len(others)
        assert deaf.seen == (["add", "mul"] if others else ["mul"])


def test_recording_that_begins_within_a_step_of_an_optimizer_notes_its_writes() -> None:
    """An observer that was not told of the optimizer hears what it writes."""
    w, deaf, late = rg.ones(3, requires_grad=True), _Writes(hears_updates=False), _Writes(hears_updates=False)

    class Late(rg.optim.SGD):
        def _update(self, p: rg.Tensor, g: rg.Tensor, group: dict[str, object]) -> None:
            observe.add(late)
            super()._update(p, g, group)

    observe.add(deaf)
    optimizer = Late([w], lr=0.5)
    w.sum().backward()
    optimizer.step()
    observe.remove(deaf)
    observe.remove(late)
    assert late.seen == ["add"]


def test_observers_hear_of_gradients_that_the_program_reads_alone(monkeypatch):
    """An optimizer's step is one event; where a program reads a gradient, that is told."""
    heard = []

    class Ears:
        """Hears of gradients."""

        def read(self, tensor):
            """``.grad`` was read."""
            heard.append("read")

    monkeypatch.setattr(overrides, "INSTALLED", False)  # a mode in an earlier test has had functions wrapped for good
    w = rg.ones(2, requires_grad=True)
    optimizer = rg.optim.SGD([w], lr=0.5)
    w.sum().backward()
    ears = Ears()
    observe.add(ears)
    try:
        optimizer.step()
        assert heard == []
        assert w.grad is not None
    finally:
        observe.remove(ears)
    assert heard == ["read"]
    assert w.tolist() == [0.5, 0.5]


READS = """import torch
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))
w = torch.ones(2, requires_grad=True)
torch.nn.utils.clip_grad_norm_([w], 1.0)
with Mode():
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    w.grad
w.grad
[p.grad for p in (w,)]
"""


def test_looks_at_a_gradient_that_is_not_there_are_told_of_lines_that_look_themselves():
    """What clips gradients reads none for the program, and a mode that overrides ``.grad`` does not hide who looks."""
    recorded, error = record(READS, "retrograd", "full")
    assert error is None
    assert [event.source.line for event in of_kind(recorded, "read")] == [9, 10, 11]


STEPS = """import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
x, seen = torch.ones(4, 3), []
for step in range({count}):
    loss = net(x).sum() + net[0].weight.detach().sum()
    for p in net.parameters():
        p.grad = None
    loss.backward()
    seen.append(loss.item())
    with torch.no_grad():
        for p in net.parameters():
            p.sub_(p.grad, alpha=0.1)
"""


def test_events_of_a_step_are_made_when_somebody_reads_not_on_the_way(monkeypatch):
    """Gradients that are cleared, arrive and are read, writes and ways out of the graph look into no rows of notes."""
    made = []
    make = Journal._make

    def counted(self: Journal) -> None:
        made.append(len(self.entries))
        make(self)

    monkeypatch.setattr(Journal, "_make", counted)
    numbers = []
    for count in (2, 12):
        made.clear()
        recorded, error = record(STEPS.format(count=count), "retrograd")
        assert error is None
        assert len(recorded.events) > 15 * count
        numbers.append(len(made))
    assert numbers[1] <= numbers[0] + 2  # living tensors are counted whenever the number of passes has doubled


FIRST_RECORDING = """
import retrograd as rg
from retrograd.inspect.process.recorder import recording
rg.set_default_device("meta")
rg.set_default_device("cpu")
with recording(level="full") as recorded:
    rg.nn.Linear(2, 2)
print(next(event.op for event in recorded.events if event.kind == "operation"))
"""


def test_calls_have_their_names_once_there_was_another_default_device():
    """Functions that ask for the default device since then are told by their own names, in a fresh process."""
    done = subprocess.run([sys.executable, "-c", FIRST_RECORDING], capture_output=True, text=True, check=True)

    assert done.stdout == "empty\n"

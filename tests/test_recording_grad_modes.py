"""What recordings tell of lines that switch grad mode or inference mode, the same on both engines."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_pair import of_kind, record

from retrograd.inspect.diagnosis import diagnose

PROGRAM = """import torch
import contextlib
w = torch.ones(3, requires_grad=True)
off = torch.no_grad


@torch.no_grad()
def plain(x):
    return x * 2


@off()
def rows(x):
    yield x * 3


@contextlib.contextmanager
def frozen():
    with off():
        yield


def leak():
    with torch.no_grad():
        yield w * 4


results = []
was = torch.is_grad_enabled()
with off():
    results += [w * 5]
plain(w)
list(rows(w))
torch.set_grad_enabled(False)
results += [w * 6]
torch.set_grad_enabled(was)
torch._C._set_grad_enabled(False)
results += [w * 7]
torch._C._set_grad_enabled(True)
with torch.inference_mode(), torch.enable_grad():
    results += [w * 8]
with frozen():
    results += [w * 9]
with contextlib.ExitStack() as stack:
    stack.enter_context(off())
    results += [w * 10]
with torch.set_grad_enabled(False):
    results += [w * 11]
generator = leak()
next(generator)
results += [w * 12]
generator.close()
torch.distributions.Normal(w, torch.ones(3), validate_args=False).sample()
with off():
    with torch.enable_grad():
        w * 13
    results += [w * 14]
w * 15
print([one.requires_grad for one in results])
"""


def line_of(text: str) -> int:
    """The line of the program that holds a text."""
    return PROGRAM[: PROGRAM.index(text)].count("\n") + 1


def told(event: Any) -> tuple[Any, ...]:
    """What is to be equal on both engines."""
    data = event.data
    kept = [data.get(key) for key in ("action", "grad", "before", "inference", "callee", "own")]
    return (event.op, event.source.line, *kept)


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_each_cut_names_the_line_that_switched(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever way gradients are switched off, and by whichever alias, the call that suffers says where that was."""
    pytest.importorskip(engine)
    recorded, error = record(PROGRAM, engine)

    assert error is None
    assert set(eval(capsys.readouterr().out)) == {False}
    cuts = [event for event in of_kind(recorded, "cut") if event.data["reason"] in ("no_grad", "inference")]
    found = {event.source.line: recorded.events[event.data["switch"]] for event in cuts}
    wanted = {
        "x * 2": "plain(w)",
        "x * 3": "list(rows(w))",
        "w * 4": "with torch.no_grad():",
        "w * 5": "with off():\n    results += [w * 5]",
        "w * 6": "torch.set_grad_enabled(False)\n",
        "w * 7": "torch._C._set_grad_enabled(False)",
        "w * 8": "with torch.inference_mode()",
        "w * 9": "with off():\n        yield",
        "w * 10": "stack.enter_context",
        "w * 11": "with torch.set_grad_enabled(False)",
        "w * 12": "with torch.no_grad():",
        ".sample()": ".sample()",
        "w * 14": "with off():\n    with",
    }
    assert {line: switch.source.line for line, switch in found.items()} == {
        line_of(cut): line_of(switch) for cut, switch in wanted.items()
    }
    assert [(one.data["callee"], one.data["declared"][1]) for one in found.values() if "declared" in one.data] == [
        ("plain", line_of("@torch.no_grad()")),
        ("rows", line_of("@off()")),
    ]
    calls = [event for event in of_kind(recorded, "operation") if event.op == "mul"]
    on = [event for event in calls if any(recorded.tensors[one].requires_grad for one in event.data["inputs"])]
    assert [event.source.line for event in on] == [line_of("w * 13"), line_of("w * 15")]
    assert all("switch" not in event.data for event in on)


def test_both_engines_tell_the_same_switches() -> None:
    """Every block that is entered is left, and both engines say it in the same words."""
    pytest.importorskip("torch")
    one, other = ([told(event) for event in of_kind(record(PROGRAM, name)[0], "grad-mode")] for name in ENGINES)

    assert one == other
    entered, left = ([rest for rest in one if rest[2] == action] for action in ("entered", "left"))
    assert len(entered) == len(left)


ENGINES = ("retrograd", "torch")


TRAINING = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
switch = getattr(torch, "no" + "_grad")


def features(x):
    return net(x).square()


for step in range(3):
    optimizer.zero_grad()
    block = switch()
    block.__enter__()
    h = features(torch.randn(4, 3))
    block.__exit__(None, None, None)
    h.sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_finding_names_the_switch_and_not_the_call_inside(engine: str) -> None:
    """No word of the source says that gradients are off: the line is known because it was heard."""
    pytest.importorskip(engine)
    recorded, error = record(TRAINING, engine)

    assert error is not None
    (finding,) = [one for one in diagnose(recorded) if one.severity == "error"]
    assert (finding.kind, finding.line) == ("broken-chain", 15)


SAMPLING = """import torch
w = torch.ones(3, requires_grad=True)
torch.nn.init.normal_(w)
torch.nn.utils.clip_grad_norm_([w], 1.0)
loss = w.square().sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_engine_switches_for_itself_is_not_told(engine: str) -> None:
    """Initialisers and clipping work without gradients, which is no switch of the program's."""
    pytest.importorskip(engine)
    recorded, error = record(SAMPLING, engine)

    assert error is None
    assert of_kind(recorded, "grad-mode") == []

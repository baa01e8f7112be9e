"""What recordings tell of transforms of ``torch.func``, of modules called with other tensors, and of autocast."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_pair import of_kind, record

PROGRAM = """import torch
func = torch.func
square = lambda t: (t * t).sum()
gradient = func.grad


def rows(t):
    return func.vmap(square)(t).sum()


x = torch.ones(2, 3)
y = x + 1
gradient(rows)(x)
y = y + 1
func.jacrev(square)(x)
y = y + 1
func.jvp(square, (x,), (x,))
y = y + 1
for _ in range(2):
    gradient(square)(x)
    y = y + 1
net = torch.nn.Linear(3, 1)
fast = {name: one.detach() * 2 for name, one in net.named_parameters()}
print(func.functional_call(net, fast, (x,)).shape[0])
"""


def levels(event: Any) -> tuple[Any, ...]:
    """Line, nesting and functions of an event."""
    return (event.source.line, event.data["action"], event.data["levels"], [one[0] for one in event.data["applied"]])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_transforms_are_told_with_nesting_and_line(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each level that is open around calls, by the functions that the user's lines apply, by whatever alias."""
    pytest.importorskip(engine)
    recorded, error = record(PROGRAM, engine)

    assert error is None
    assert capsys.readouterr().out == "2\n"
    events = of_kind(recorded, "transform")
    entered = [levels(event) for event in events if event.data["action"] == "entered"]
    assert entered == [
        (8, "entered", ["grad", "vmap"], ["grad", "vmap"]),
        (15, "entered", ["grad"], ["jacrev"]),
        (17, "entered", ["jvp"], ["jvp"]),
        (20, "entered", ["grad"], ["grad"]),
        (20, "entered", ["grad"], ["grad"]),
    ]
    assert [event.data["levels"] for event in events if event.data["action"] == "left"][-1] == []
    inside = [event for event in recorded.events if event.kind == "operation" and event.source.line == 3]
    assert inside
    assert recorded.events.index(events[0]) < recorded.events.index(inside[0])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_tensors_in_the_place_of_parameters(engine: str) -> None:
    """``functional_call`` says which tensors stand for which parameters: the ones that the program made."""
    pytest.importorskip(engine)
    recorded, error = record(PROGRAM, engine)

    assert error is None
    (called,) = [event for event in of_kind(recorded, "transform") if event.op == "functional_call"]
    assert (called.source.line, called.data["names"]) == (24, ["weight", "bias"])
    made = [event.data["outputs"][0] for event in recorded.events if event.op == "mul" and event.source.line == 23]
    assert called.data["inputs"] == made


CASTS = """import torch
net = torch.nn.Linear(3, 2)
cast = torch.autocast("cpu", dtype=torch.bfloat16)


@torch.autocast("cpu", dtype=torch.bfloat16)
def narrow(x):
    return net(x)


x = torch.ones(4, 3)
with cast:
    first = net(x)
    with torch.amp.autocast("cpu", enabled=False):
        second = net(x)
third = narrow(x)
print(first.dtype, second.dtype, third.dtype)
"""


@pytest.mark.parametrize("engine", ["torch", "retrograd"])
def test_autocast_is_told_with_its_dtype(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks and decorators, nested ones that switch it off again included; what they do is seen in the results."""
    torch = pytest.importorskip(engine)
    recorded, error = record(CASTS, engine)

    assert error is None
    assert capsys.readouterr().out.split() == [str(torch.bfloat16), str(torch.float32), str(torch.bfloat16)]
    told = [(one.source.line, one.op, one.data["action"], one.data["enabled"]) for one in of_kind(recorded, "autocast")]
    assert told == [
        (12, "cpu", "entered", True),
        (14, "cpu", "entered", False),
        (14, "cpu", "left", True),
        (12, "cpu", "left", False),
        (16, "cpu", "entered", True),
        (16, "cpu", "left", False),
    ]
    last = of_kind(recorded, "autocast")[-2].data
    assert (last["dtype"], last["callee"], last["declared"][1]) == ("bfloat16", "narrow", 6)

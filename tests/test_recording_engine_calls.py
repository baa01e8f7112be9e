"""What a recording at level full says of calls on our engine, held against that of the same program on PyTorch."""

from __future__ import annotations

import gc
import math
import weakref
from types import FunctionType
from typing import Any

import pytest
from recorded_pair import calls, of_kind, record

import retrograd as rg
from retrograd.engine.generated import fast_path
from retrograd.engine.table.public import FUNCTIONS
from retrograd.inspect.sources.engine_.calls import caller

PROGRAMS = {
    "layers": """import torch
x = torch.ones(3, 4)
w = torch.ones(4, 2).requires_grad_(True)
b = torch.zeros(2, requires_grad=True)
h = torch.tanh(x @ w + b)
scale = h.abs().mean()
loss = ((h / scale - 1.0) ** 2).sum()
loss.backward()
""",
    "cut": """import torch
w = torch.ones(3, requires_grad=True)
hidden = torch.exp(w)
code = hidden.detach()
loss = (code * 2.0).sum()
""",
    "no grad": """import torch
w = torch.ones(3, requires_grad=True)
@torch.no_grad()
def infer(v):
    return torch.sigmoid(w * v)
def train(v):
    return infer(v) + 1.0
out = train(torch.ones(3))
""",
    "writes": """import torch
w = torch.ones(4, requires_grad=True)
h = torch.exp(w)
h += 0.5
h[1:3] = 0.0
table = torch.zeros(4)
table[torch.tensor([0, 0, 1, 2])] = w * 1.0
h.data.clamp_(0.0, 1.0)
""",
    "integers": """import torch
w = torch.ones(3, requires_grad=True)
best = torch.argmax(w * 2.0)
count = (w * 2.0).long()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_those_of_torch(name):
    """Kind, function, line, names of operands and results, and the number of nodes agree with PyTorch."""
    pytest.importorskip("torch")
    ours, error = record(PROGRAMS[name], "retrograd")
    theirs, _ = record(PROGRAMS[name], "torch")

    assert error is None
    assert not of_kind(ours, "problem")
    assert calls(ours) == calls(theirs)


def test_names_of_functions_that_are_replaced(monkeypatch):
    """The code of a function that is no longer there gives its name to no other code that comes to lie where it was."""
    monkeypatch.setattr(caller, "_names", {})
    made: dict[str, Any] = {}
    exec("def passing(x): return x", made)
    with monkeypatch.context() as present:
        present.setitem(FUNCTIONS, "passing", made["passing"])
        names = caller._public_names()
    code = weakref.ref(made.pop("passing").__code__)

    assert names[id(code())][1] == "passing"
    gc.collect()
    assert code() is not None


def test_name_of_the_only_function_that_was_not_called(monkeypatch):
    """What all functions run at their first call has the name of none of them, also where one alone is left with it."""
    left = FunctionType(fast_path._first_call.__code__, {}, "floor_divide")
    for table, functions in {"_names": {}, "NAMESPACES": {}, "METHODS": {}, "PROPERTIES": {}}.items():
        monkeypatch.setattr(caller, table, functions)
    monkeypatch.setattr(caller, "FUNCTIONS", {"floor_divide": left})

    assert id(left.__code__) not in caller._public_names()


def test_reasons_and_stacks_of_cuts():
    """A cut names its reason, and the user's lines that led to it."""
    recorded, _ = record(PROGRAMS["no grad"], "retrograd")
    (cut,) = of_kind(recorded, "cut")

    assert (cut.op, cut.data["reason"], cut.source.line) == ("mul", "no_grad", 5)
    assert [entry["line"] for entry in cut.data["stack"]][:2] == [5, 7]


def test_writes():
    """An in-place write tells versions, the way to the memory, and repeated indices."""
    recorded, _ = record(PROGRAMS["writes"], "retrograd")
    writes = {event.source.line: event.data for event in of_kind(recorded, "inplace")}
    target = recorded.tensors[writes[8]["target"]]

    assert [writes[line]["version"] for line in (4, 5, 7, 8)] == [[0, 1], [1, 2], [0, 1], [0, 1]]
    assert writes[7]["duplicates"] == 1
    assert writes[8]["through"] == "data"
    assert target.storage == recorded.tensors[writes[4]["target"]].storage


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_values_lost_to_repeated_indices(engine):
    """Writes by index into copies and in place tell how many values they lose, on both engines alike."""
    pytest.importorskip(engine)
    lines = [
        "import torch",
        "index, values = torch.tensor([0, 0, 1]), torch.ones(3)",
        "torch.zeros(4).index_put((index,), values)",
        "torch.zeros(4).index_put((index,), values, accumulate=True)",
        "torch.zeros(4).scatter(0, index, values)",
        "torch.zeros(4).index_copy(0, index, values)",
        "torch.zeros(2, 4).index_copy_(1, index, torch.ones(2, 3))",
        "torch.zeros(4).index_add(0, index, values)",
    ]
    recorded, error = record("\n".join(lines) + "\n", engine)
    found = {event.source.line: event.data["duplicates"] for event in recorded.events if "duplicates" in event.data}

    assert error is None
    assert found == {3: 1, 5: 1, 6: 1, 7: 1}


def test_refused_write():
    """A write that autograd forbids is there with its error, and the program gets the error as ever."""
    program = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1.0\n"
    recorded, error = record(program, "retrograd")
    event = recorded.events[-2]

    assert "leaf Variable" in str(error)
    assert (event.op, event.written, event.source.line, event.data["names"]) == ("add", "add_", 3, ["w"])
    assert event.data["version"] == [0, 0]
    assert event.data["error"].startswith("RuntimeError: a leaf Variable")


def test_values_where_something_is_born_that_is_not_finite():
    """The call that made the first infinity has summaries of what went in and came out, and the place."""
    program = "import torch\nrate = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)\nraw = torch.log(rate)\n"
    recorded, _ = record(program, "retrograd")
    event = recorded.events[-1]
    given, made = event.data["values"]["0"], event.data["values"]["1"]

    assert event.data["range"][0][0] == -math.inf
    assert (given["min"], given["zero"], given["pole"]) == (0.0, 1, [1])
    assert (made["inf"], made["first_bad"], made["bad_rows"]) == (1, [1], [1])


def test_what_nodes_save():
    """Exactly the tensors that backward will need: the result of exp, both factors, nothing for a sum."""
    program = "import torch\nw = torch.ones(3, requires_grad=True)\na = torch.exp(w)\nb = a * w\nc = b.sum()\n"
    recorded, _ = record(program, "retrograd")
    saved = {event.op: [recorded.tensors[n].name for n in event.data.get("saves", ())] for event in recorded.events}

    assert saved["exp"] == ["a"]
    assert sorted(saved["mul"]) == ["a", "w"]
    assert saved["sum"] == []


def test_calls_tell_how_long_they_took() -> None:
    """The time of a call is that of the kernel and its record, not of what recording does about it."""
    with rg.debug() as trace:
        x = rg.ones(3, requires_grad=True)
        y = (x * 2.0).reshape(3, 1).sum()
        with rg.no_grad():
            x.add_(1.0)
    assert y.item() == 6.0
    told = {event.op: event.data["time_us"] for event in trace.recording.events if "time_us" in event.data}
    assert {"mul", "reshape", "sum", "add"} <= told.keys()
    assert all(0.0 < took < 1e6 for took in told.values())

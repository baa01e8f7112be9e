"""Parameters of which each rank has a copy: where copies part and why, and which gradients meet in one collective."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rank_samples import network

from retrograd.errors import UsageError
from retrograd.inspect.diagnosis import diagnose_together
from retrograd.inspect.diagnosis.rules.together.replicas import sharded_parameters
from retrograd.inspect.findings import Finding
from retrograd.inspect.lineup.replica import replica_of
from retrograd.inspect.lineup.run import Run
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.tensor_facts import TensorFacts

NAMES = ("inner.weight", "inner.bias")
TENSORS = (*NAMES, "other")
Held = list[tuple[int, int]]
"""What a parameter held before and after each step."""


def line(number: int) -> SourceLine:
    """A line of the program."""
    return SourceLine("train.py", number, "<module>")


def rank(number: int, held: dict[str, Held], *extra: Event, wrapped: bool = False) -> Recording:
    """A rank that takes steps; ``extra`` is what happens before each."""
    names = list(held)
    events = [Event("collective", op="init_process_group", data={"group": 0, "group_size": 2, "rank": number})]
    if wrapped:
        inputs = [TENSORS.index(name) for name in names]
        events.append(Event("wrapper", op="Wrapper", source=line(2), data={"inputs": inputs, "sharded": False}))
    for step in range(len(held[names[0]])):
        events += extra
        events.append(Event("backward", source=line(7), data={"run": step, "api": "backward"}))
        events.append(Event("backward-end", source=line(7), data={"run": step}))
        before, after = ({str(TENSORS.index(name)): held[name][step][at] for name in names} for at in (0, 1))
        data: dict[str, Any] = {"action": "step", "owner": 0, "held_before": before, "held_after": after}
        data["parameters"] = {f"0.{n}": n for n in range(len(names))}
        events.append(Event("optimizer", op="SGD", source=line(8), data=data))
    tensors = [TensorFacts((2,), requires_grad=True, name=name, parameter=True) for name in TENSORS]
    return Recording(events=events, tensors=tensors, level="full", rank=number, world_size=2)


def reduced(*names: str, op: str = "all_reduce") -> list[Event]:
    """Gradients added up over ranks, one by one."""
    base = {"group": 0, "group_size": 2, "inputs": [0], "shapes": [[2]], "requires_grad": [False]}
    numbers = [TENSORS.index(one) for one in names]
    return [Event("collective", op=op, source=line(5), data={**base, "gradients_of": [one]}) for one in numbers]


def told(*ranks: Recording) -> list[Finding]:
    """What is said of copies and turns."""
    found = diagnose_together(ranks, [f"rank {one.rank}" for one in ranks])
    return [one for one in found if one.kind in ("unreduced-gradient", "rank-divergence") and one.severity != "note"]


ALIKE: Held = [(1, 2), (2, 3), (3, 4)]
PARTED: list[Held] = [[(1, 2), (2, 3), (3, 4)], [(1, 20), (20, 30), (30, 40)]]
called = Event("module", op="Wrapper", source=line(6), data={"type": "Wrapper", "parameters": {}, "owner": 0})
unsynced = Event("collective", op="no_sync", source=line(4), data={"group": 0, "group_size": 2})


@pytest.mark.parametrize(
    ("extra", "words", "at"),
    [
        ([], "the module inside Wrapper, not Wrapper itself", 7),
        ([called, unsynced], "runs under no_sync()", 4),
    ],
)
def test_copies_under_a_wrapper_that_part(extra: list[Event], words: str, at: int) -> None:
    """Every step makes them part further; the finding says why, at the line that did it."""
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), *extra, wrapped=True) for n in range(2)))

    assert (one.kind, one.severity, one.line) == ("unreduced-gradient", "error", at)
    assert "inner.bias and inner.weight diverge between ranks" in one.message
    assert words in one.message
    assert "from step 0 at train.py:8 on" in one.message


CALLS = """
def forward(self, x): return self.head(x)
def scores(net, x):
    return net(x)
def train(wrapper, x):
    found = scores(wrapper.module, x)
"""


def test_line_that_passes_a_wrapper_by(tmp_path: Path) -> None:
    """Who hands the inner module to a function is told, not the function that calls what it was given."""
    program = tmp_path / "calls.py"
    program.write_text(CALLS)
    frames = [(2, "forward"), (4, "scores"), (6, "train")]
    stack = [{"file": str(program), "line": number, "function": name} for number, name in frames]
    call = Event("operation", op="linear", source=line(3), data={"inputs": [0], "nodes": [0, 1], "stack": stack})
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), call, wrapped=True) for n in range(2)))

    assert (one.file, one.line) == (str(program), 6)


def test_line_that_passes_a_wrapper_by_in_no_function() -> None:
    """The call itself is told where no function of the program is around it."""
    call = Event("operation", op="linear", source=line(3), data={"inputs": [0], "nodes": [0, 1]})
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), call, wrapped=True) for n in range(2)))

    assert one.line == 3


def test_nothing_was_ever_reduced() -> None:
    """Processes in one group that train equal copies on their own, with no word to each other."""
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n])) for n in range(2)))

    assert (one.kind, one.severity, one.line) == ("unreduced-gradient", "warning", 7)
    assert "no gradient is ever all-reduced" in one.message


def test_sums_that_a_step_does_not_wait_for() -> None:
    """They were begun in time, of the gradients themselves, and copies part: what the step took was not the sum."""
    sums = reduced(*NAMES)
    arrivals = [Event("accumulate", source=line(7), data={"tensor": one}) for one in (0, 1)]
    for one in sums:
        one.data["asynchronous"] = True
    (found,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), *arrivals, *sums) for n in range(2)))

    assert (found.kind, found.line) == ("unreduced-gradient", 5)
    assert "is asynchronous" in found.message


def test_sums_in_hooks_that_a_step_does_not_wait_for() -> None:
    """A hook after accumulation runs when the gradient is there, though the pass notes leaves only when it ends."""
    sums = reduced(*NAMES)
    for one in sums:
        one.data.update(asynchronous=True, run=0)
    ran = [Event("hook", "post-accumulate", data={"action": "ran", "tensor": one, "run": 0}) for one in (0, 1)]
    arrivals = [Event("accumulate", source=line(7), data={"tensor": one, "run": 0}) for one in (0, 1)]
    extra = [sums[0], ran[0], sums[1], ran[1], *arrivals]
    (found,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), *extra) for n in range(2)))

    assert (found.kind, found.line) == ("unreduced-gradient", 5)
    assert "is asynchronous" in found.message


def test_a_round_in_which_one_rank_left_a_collective_out() -> None:
    """The other waits for it at the end; said is the round, by the line that ran twice between two calls."""
    ranks = []
    for number in range(2):
        one = rank(number, dict.fromkeys(NAMES, ALIKE))
        for turn in range(6):
            one.events.append(Event("operation", "mul", line(20), {"inputs": [], "outputs": []}))
            if (number, turn) != (1, 3):
                data = {"group": 0, "sequence": sum(event.op == "all_reduce" for event in one.events), "inputs": [0]}
                one.events.append(Event("collective", "all_reduce", line(22), {**data, "shapes": [[2]]}))
        ranks.append(one)
    ranks[0].events[-1].data["error"] = "Connection closed by peer"
    lost = {"type": "RuntimeError", "message": "[gloo/transport/tcp/pair.cc:537] Connection closed by peer"}
    ranks[0].events.append(Event("error", source=line(22), data=lost))
    (found,) = (one for one in told(*ranks) if one.kind == "rank-divergence")

    assert found.line == 20
    assert "rank 1 left it out once after 3 calls, when train.py:20 ran twice" in found.message


def test_a_rank_of_which_nothing_is_left() -> None:
    """Who lost it says where, and not that a call of its own went wrong."""
    left = rank(0, dict.fromkeys(NAMES, ALIKE))
    gone = {"type": "RuntimeError", "message": "[gloo/transport/tcp/pair.cc:537] Connection closed by peer"}
    left.events.append(Event("error", source=line(12), data=gone))
    (one,) = diagnose_together([left], ["rank 0"])

    assert (one.kind, one.line) == ("rank-divergence", 12)
    assert "of rank 1 there is no recording" in one.message


def test_copies_that_never_were_alike() -> None:
    """Gradients are added up, to weights that were drawn differently."""
    held = [[(1, 2), (2, 3)], [(5, 6), (6, 7)]]
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, held[n]), *reduced(*NAMES)) for n in range(2)))

    assert (one.kind, one.severity, one.line) == ("unreduced-gradient", "error", 5)
    assert "before the first step" in one.message
    assert "broadcast them from rank 0" in one.remedy


def test_gradients_that_meet_in_another_order() -> None:
    """The first turn at which the gradients of two parameters are added up."""
    orders = (NAMES, NAMES[::-1])
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, ALIKE), *reduced(*orders[n])) for n in range(2)))

    assert (one.kind, one.severity, one.line) == ("rank-divergence", "error", 5)
    assert "rank 0 reduces inner.weight and rank 1 reduces inner.bias" in one.message


TOGETHER_AGAIN: list[Held] = [[(1, 2), (2, 3), (7, 8), (8, 9)], [(1, 20), (20, 30), (7, 80), (80, 90)]]
RIGHT = {
    "copies that stay alike": [rank(n, dict.fromkeys(NAMES, ALIKE), *reduced(*NAMES)) for n in range(2)],
    "local steps, averaged now and then": [
        rank(n, dict.fromkeys(NAMES, TOGETHER_AGAIN[n]), called, wrapped=True) for n in range(2)
    ],
    "parts of a model on each rank, some shared": [
        rank(n, {NAMES[0]: ALIKE, NAMES[1]: [(n, n + 2), (n + 2, n + 4), (n + 4, n + 6)]}, *reduced(NAMES[0]))
        for n in range(2)
    ],
    "shards, whose gradients are added up and scattered": [
        rank(n, {one: [(n, n + 2), (n + 2, n + 4)] for one in NAMES}, *reduced(*TENSORS, op="reduce_scatter_single"))
        for n in range(2)
    ],
    "weights tied over two stages": [rank(n, {NAMES[n]: ALIKE}, *reduced(NAMES[n])) for n in range(2)],
    "gradients reduced by a hook in place of the reducer, which leaves them apart": [
        rank(n, dict.fromkeys(NAMES, PARTED[n]), called, *reduced("other"), wrapped=True) for n in range(2)
    ],
}


def sum_of(*shape: int, row: int = 5) -> Event:
    """A sum over ranks of something that is no gradient."""
    data = {"group": 0, "group_size": 2, "inputs": [2], "shapes": [[*shape]], "requires_grad": [False]}
    return Event("collective", op="all_reduce", source=line(row), data={**data, "gradients_of": []})


def test_all_gradients_in_one_piece_that_nobody_writes_back() -> None:
    """A sum as large as all parameters together is one of copies of their gradients; of another size it may be any."""
    (one,) = told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), sum_of(4)) for n in range(2)))

    assert (one.kind, one.line) == ("unreduced-gradient", 5)
    assert "a copy of the gradients" in one.message
    assert told(*(rank(n, dict.fromkeys(NAMES, PARTED[n]), sum_of(3)) for n in range(2))) == []


def test_ranks_that_meet_only_when_all_is_done() -> None:
    """Results that are gathered in the end may be those of independent runs: a note, and none of averaged weights."""
    ranks = [rank(n, dict.fromkeys(NAMES, PARTED[n])) for n in range(2)]
    for one in ranks:
        one.events.append(sum_of(3, row=9))
        one.tensors[2] = TensorFacts((3,))
    (note,) = diagnose_together(ranks, ["rank 0", "rank 1"])
    assert (note.severity, note.line) == ("note", 7)
    assert "nothing is exchanged before all steps are done" in note.message

    for one in ranks:
        one.events[-1].data["inputs"] = [0]
        one.tensors[0].storage = 1
    assert diagnose_together(ranks, ["rank 0", "rank 1"]) == []


def test_a_rank_that_steps_for_all() -> None:
    """A server that alone gets the sum of gradients, divides it and steps leaves no copies apart."""
    scaled = Event("inplace", op="div", source=line(6), data={"gradient_of": 0, "target": 0})
    ranks = [rank(n, dict.fromkeys(NAMES, ALIKE), *reduced(*NAMES, op="reduce"), *[scaled] * (1 - n)) for n in range(2)]
    ranks[1].events = [event for event in ranks[1].events if event.kind != "optimizer"]

    assert told(*ranks) == []


def test_line_from_which_one_rank_alone_calls_a_collective() -> None:
    """Not the line in a function of the program, which others call as well, but that of its call under a condition."""
    ranks = []
    for number, outer in ((0, 33), (1, 44)):
        frames = [{"file": "train.py", "line": row, "function": name} for row, name in ((18, "mean"), (outer, "main"))]
        data = {"group": 0, "sequence": 0, "shapes": [[number + 1]], "dtypes": ["float32"], "stack": frames}
        first = Event("collective", "all_reduce", line(18), data)
        later = [{**frames[0]}, {**frames[1], "line": 44}]
        ranks.append(rank(number, dict.fromkeys(NAMES, ALIKE), Event("error", data={"stack": later})))
        ranks[-1].events.insert(1, first)
    (one, *_) = diagnose_together(ranks, ["rank 0", "rank 1"])

    assert (one.kind, one.line) == ("rank-divergence", 33)
    assert "all_reduce of (1,) float32 at train.py:18, called at train.py:33, on rank 0" in one.message


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_what_is_meant_is_no_finding(name: str) -> None:
    """Jobs whose ranks differ by design, or not at all."""
    assert told(*RIGHT[name]) == []


def test_gradients_that_one_rank_changes_alone() -> None:
    """What all ranks added up is scaled on one of them, and its copies part; scaled on all of them they do not."""
    scaled = Event("inplace", op="mul", source=line(6), data={"gradient_of": 1, "target": 0})
    extra = [(*reduced(*NAMES), scaled), reduced(*NAMES)]
    alone = [rank(n, dict.fromkeys(NAMES, ALIKE), *extra[n]) for n in range(2)]
    (one,) = told(*alone)

    assert (one.kind, one.line) == ("unreduced-gradient", 6)
    assert "the gradients of inner.bias on rank 0 only" in one.message
    assert told(*(rank(n, dict.fromkeys(NAMES, ALIKE), *extra[0]) for n in range(2))) == []


def test_gradients_that_one_rank_changes_before_a_step_by_hand() -> None:
    """No optimizer needs to step for the copies to part; where one rank steps for all, nothing parts."""
    scaled = Event("inplace", op="mul", source=line(6), data={"gradient_of": 1, "target": 0})
    ranks = [rank(n, dict.fromkeys(NAMES, ALIKE), *reduced(*NAMES), *[scaled] * n) for n in range(2)]
    for one in ranks:
        one.events = [event for event in one.events if event.kind != "optimizer"]
    (found,) = told(*ranks)
    assert (found.kind, found.line) == ("unreduced-gradient", 6)

    server = rank(1, dict.fromkeys(NAMES, ALIKE), *reduced(*NAMES), scaled)
    assert told(ranks[0], server) == []


def test_gradients_of_a_wrapper_that_one_rank_clips_alone() -> None:
    """A wrapper adds gradients up by itself, in its backward."""
    inner = [Event("inplace", op="mul", source=line(8), data={"gradient_of": one, "target": one}) for one in (0, 1)]
    clip = Event("clip", op="clip_grad_norm_", source=line(8), data={"inputs": [0, 1]})
    ends = [Event("backward", source=line(7), data={"run": 9}), Event("backward-end", source=line(7), data={"run": 9})]
    (one,) = told(
        *(rank(n, dict.fromkeys(NAMES, ALIKE), called, *ends, *[*inner, clip] * n, wrapped=True) for n in range(2))
    )

    assert (one.kind, one.line) == ("unreduced-gradient", 8)
    assert one.message.startswith("clip_grad_norm_ at train.py:8 changes")
    assert "on rank 1 only, after they were all-reduced at train.py:7" in one.message


def call(op: str, *inputs: int, out: int) -> Event:
    """A call with a gradient."""
    return Event("operation", op=op, source=line(3), data={"inputs": [*inputs], "outputs": [out], "nodes": [0, 1]})


def sent(op: str, tensor: int) -> Event:
    """A collective inside of a function that autograd knows."""
    data = {"group_size": 2, "inputs": [8, tensor], "requires_grad": [False, True], "grad": False}
    return Event("collective", op=op, source=line(4), data=data)


def stepped(*parameters: int) -> Event:
    """A step of an optimizer."""
    data = {"action": "step", "parameters": {str(one): one for one in parameters}, "held_before": {}, "held_after": {}}
    return Event("optimizer", op="SGD", source=line(8), data=data)


LOOKED_UP = call("embedding_bag", 5, 2, out=6)
TABLES = {
    "rows sent to who asked for them": ([LOOKED_UP, call("view", 6, out=7), sent("all_to_all_single", 7)], True),
    "sums of parts": ([call("linear", 5, 2, out=6), sent("reduce_scatter", 6)], True),
    "an optimizer of its own": ([LOOKED_UP, stepped(2), stepped(0, 1)], True),
    "one optimizer for all": ([LOOKED_UP, stepped(0, 1, 2)], False),
    "no table, with an optimizer of its own": ([call("linear", 5, 2, out=6), stepped(2), stepped(0, 1)], False),
    "results gathered on all ranks": ([LOOKED_UP, sent("all_gather", 6), stepped(0, 1, 2)], False),
    "sent after a shared layer": (
        [LOOKED_UP, call("linear", 6, 0, out=7), sent("all_to_all", 7), stepped(0, 2)],
        False,
    ),
}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_norms_that_are_taken_before_a_sum_has_ended(asynchronous: bool) -> None:
    """When a pass ends, sums begun in its hooks may be under way: only what was reduced by then can be compared."""
    two = []
    for number in (0, 1):
        sums = reduced(*NAMES)
        for one in sums:
            one.data.update(run=0, **({"asynchronous": True} if asynchronous else {}))
        recording = rank(number, dict.fromkeys(NAMES, ALIKE[:1]), *sums)
        graph = network()
        graph.name[4:6], graph.measures["grad_norm"][4:6] = list(NAMES), [1.0 + number, 2.0 + number]
        recording.graphs, recording.events[3].data["snapshot"] = [graph], 0
        recording.events[4].data["kept_norms"] = {"0": 1.5, "1": 2.5 + number}
        two.append(recording)

    assert [one.kind for one in told(*two)] == ([] if asynchronous else ["unreduced-gradient"])


@pytest.mark.parametrize(("op", "severity"), [("embedding", "note"), ("linear", "error")])
def test_what_is_in_no_wrapper_and_shares_an_optimizer(op: str, severity: str) -> None:
    """A table may be for rows of this rank alone, which is said as a note; other weights were forgotten."""
    two = []
    for number in (0, 1):
        recording = rank(number, dict.fromkeys(NAMES, ALIKE[:1]), wrapped=True)
        graph = network()
        graph.name[4:7], graph.measures["grad_norm"][4:7] = list(TENSORS), [1.0 + number, 2.0 + number, 3.0 + number]
        recording.graphs, recording.events[2].data["snapshot"] = [graph], 0
        recording.events[3].data["kept_norms"] = {"0": 1.5, "1": 2.5, "2": 3.0 + number}
        recording.events[-1].data["parameters"]["0.2"] = 2
        recording.events[-1].data["held_before"]["2"], recording.events[-1].data["held_after"]["2"] = 1, 2 + number
        recording.events.insert(2, call(op, 3, 2, out=4))
        recording.tensors += [TensorFacts((2,)), TensorFacts((2,), requires_grad=True)]
        two.append(recording)
    (one,) = diagnose_together(two, ["rank 0", "rank 1"])

    assert (one.kind, one.severity) == ("unreduced-gradient", severity)
    assert "(norms 3 and 4), while those of other parameters are equal" in one.message
    assert ("unless each rank has rows of its own" in one.remedy) == (severity == "note")


def test_a_name_for_each() -> None:
    """Names that are too few are refused in a sentence."""
    with pytest.raises(UsageError, match="2 recordings were given 1 names"):
        diagnose_together([rank(n, dict.fromkeys(NAMES, ALIKE)) for n in range(2)], ["rank 0"])


@pytest.mark.parametrize("name", TABLES)
def test_parameters_that_are_one_ranks_own(name: str) -> None:
    """What is exchanged, or trained, apart from a wrapper's parameters is meant to differ, and no other."""
    events, own = TABLES[name]
    recording = rank(0, dict.fromkeys(NAMES, ALIKE), wrapped=True)
    recording.events += [*events, Event("accumulate", data={"tensor": 2})]
    copies = replica_of(Run(recording, "rank 0"))
    copies.names[2] = "other"

    assert sharded_parameters(copies, ["other"]) == ({"other"} if own else set())

"""Collectives that autograd does not follow, and norms of shards: what one rank's recording tells."""

from __future__ import annotations

from typing import Any

import pytest

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.findings import Finding
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.tensor_facts import TensorFacts


def line(number: int) -> SourceLine:
    """A line of the program."""
    return SourceLine("train.py", number, "<module>")


def told(*events: Event, tensors: list[TensorFacts]) -> list[Finding]:
    """What a program says whose events these are; the last tensor is its loss."""
    data = {"run": 0, "api": "backward", "roots": [len(tensors) - 1]}
    ending = [Event("backward", source=line(9), data=data), Event("backward-end", source=line(9), data={"run": 0})]
    return diagnose(Recording(events=[*events, *ending], tensors=tensors, level="full", rank=0, world_size=2))


def call(op: str, at: int, inputs: list[int], outputs: list[int]) -> Event:
    """A call that has a node."""
    data: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "grad": True, "nodes": [at, at + 1]}
    return Event("operation", op=op, source=line(at), data=data)


def collective(op: str, inputs: list[int], required: list[bool], *, size: int = 2, grad: bool = True) -> Event:
    """A collective in line 5."""
    data = {"inputs": inputs, "requires_grad": required, "group": 0, "group_size": size, "grad": grad}
    return Event("collective", op=op, source=line(5), data=data)


def facts(*names: str, required: bool = True) -> list[TensorFacts]:
    """A leaf, and results."""
    made = [TensorFacts((3,), requires_grad=required, leaf=False, name=name) for name in names]
    return [TensorFacts((3,), requires_grad=True, name="w", parameter=True), *made]


SUMMED = facts("t", "bent", "loss")


def summed(after: str, collective_: Event) -> list[Finding]:
    """A sum over ranks, and a call that takes it."""
    return told(
        call("mul", 4, [0, 0], [1]), collective_, call(after, 6, [1], [2]), call("sum", 7, [2], [3]), tensors=SUMMED
    )


def test_a_sum_over_ranks_that_a_loss_bends() -> None:
    """The gradient of a function of the sum is not that of one rank's part."""
    (one,) = summed("log", collective("all_reduce", [1], [True]))

    assert (one.kind, one.line) == ("broken-chain", 5)
    assert "all_reduce puts the sum over all ranks into t" in one.message
    assert "torch.distributed.nn.functional.all_reduce" in one.remedy


@pytest.mark.parametrize(
    ("after", "event"),
    [
        ("log", collective("all_reduce", [1], [False])),
        ("log", collective("all_reduce", [1], [True], grad=False)),
        ("log", collective("all_reduce", [1], [True], size=1)),
        ("mean", collective("all_reduce", [1], [True])),
    ],
    ids=["without history", "inside a Function or without grad", "one process", "only scaled"],
)
def test_sums_that_are_right(after: str, event: Event) -> None:
    """Nothing is lost where there is no history, nobody else, or only the size of the gradient is another."""
    assert summed(after, event) == []


def gathered(*, kept: bool) -> list[Finding]:
    """What ranks gather of ``z``, joined; ``kept``: this rank's own ``z`` is put among it."""
    tensors = [*facts("z"), TensorFacts((3,), name="others"), *facts("joined", "loss")[1:]]
    room = Event("operation", op="zeros_like", source=line(4), data={"inputs": [1], "outputs": [2], "grad": True})
    joined = call("cat", 6, [2, 1] if kept else [2], [3])
    events = (call("exp", 3, [0], [1]), room, collective("all_gather", [2, 1], [False, True]), joined)
    found = told(*events, call("sum", 7, [3], [4]), tensors=tensors)
    return [one for one in found if one.op == "all_gather"]


def test_what_goes_on_only_through_a_gathering() -> None:
    """A tensor whose values reach the loss as gathered ones alone has no gradient; beside its own it has."""
    (one,) = gathered(kept=False)

    assert (one.kind, one.severity, one.line) == ("broken-chain", "error", 5)
    assert "z goes on only as what all_gather gives to ranks" in one.message
    assert gathered(kept=True) == []


@pytest.mark.parametrize(
    ("strategy", "size", "op", "count"),
    [
        ("FULL_SHARD", 2, "clip_grad_norm_", 1),
        ("FULL_SHARD", 1, "clip_grad_norm_", 0),
        ("NO_SHARD", 2, "clip_grad_norm_", 0),
        ("FULL_SHARD", 2, "clip_grad_value_", 0),
    ],
)
def test_a_norm_of_shards(strategy: str, size: int, op: str, count: int) -> None:
    """The norm of what one rank holds is another one on each; entries are clipped one by one, whoever holds them."""
    data = {"inputs": [0], "sharded": True, "group_size": size, "strategy": strategy}
    wrapper = Event("wrapper", op="FullyShardedDataParallel", source=line(2), data=data)
    clip = Event("clip", op=op, source=line(5), data={"inputs": [0], "bound": 1.0})
    found = [one for one in told(wrapper, clip, tensors=facts("loss")) if one.kind == "unreduced-gradient"]

    assert [one.line for one in found] == [5] * count


HALVED = Event("inplace", op="div", source=line(12), data={"gradient_of": 0, "inputs": [2], "target": 2})


@pytest.mark.parametrize(
    ("last", "sent", "after", "count"),
    [
        ("mean", {}, [], 1),
        ("sum", {}, [], 0),
        ("mean", {"reduces": "AVG"}, [], 0),
        ("mean", {}, [HALVED], 0),
        ("mean", {"requires_grad": [True]}, [], 0),
    ],
    ids=["a mean", "a sum", "averaged", "divided", "parts of one batch"],
)
def test_gradients_of_means_that_are_summed(last: str, sent: dict[str, Any], after: list[Event], count: int) -> None:
    """A note where nothing divides them; of a sum over samples, or of one batch on all ranks, it is right."""
    ends = [Event("backward", source=line(9), data={"run": 0, "api": "backward", "roots": [1]})]
    ends += [Event("accumulate", source=line(9), data={"tensor": 0}), Event("backward-end", data={"run": 0})]
    reduce = collective("all_reduce", [2], [False], grad=False)
    reduce.data |= {"gradients_of": [0], **sent}
    held = {"action": "step", "owner": 0, "parameters": {"0.0": 0}, "without": [], "zero": [], "still": []}
    step = Event("optimizer", op="SGD", source=line(13), data=held)
    events = [call(last, 7, [0], [1]), *ends, reduce, *after, step]
    tensors = [*facts("loss"), TensorFacts((3,))]
    found = diagnose(Recording(events=events, tensors=tensors, level="full", rank=0, world_size=2))

    assert [(one.severity, one.line) for one in found if one.kind == "summed-on-every-rank"] == [("note", 5)] * count

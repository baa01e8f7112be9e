"""Both engines record a program alike: the same calls by the same names, with the same tensors, facts and flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bug_programs import Pair, pairs, record

import retrograd
from retrograd.inspect.events import Event, Recording
from retrograd.inspect.operators import Trait, is_a

torch = pytest.importorskip("torch")

CALLS = ("operation", "inplace", "cut")
COMPOSED = frozenset({"linear", "matmul", "layer_norm", "normalize", "norm", "var", "std"})
"""Functions that our engine makes of several operators, each an event of the function's name: taken together here.

So are losses, which take a mean in the end.
"""
APART = {
    "kaiming_uniform": "PyTorch tells a mode of the initialiser, our engine of what it draws",
    "uniform": "likewise, and drawn in no_grad",
    "normal": "likewise",
    "randn_like": "our engine tells that a tensor was made, not whose shape it has",
    "multinomial": "likewise, not whose probabilities were used",
    "zeros_like": "likewise",
    "from_numpy": "PyTorch tells no mode of it",
    "equal": "our engine tells of no comparison whose result is no tensor",
    "grad": "torch.autograd.grad is one call, and what it returns is told in another order",
}
"""Operators whose events differ, and why."""


PROGRAMS = {
    "checkpoint_mismatch_counter": "recomputation ends at another call: PyTorch's unpacks what is kept one call later",
    "deepcopy_nonleaf_list": "a call that raised is no cut for our engine",
    "failed_backward_inside_a_rule": "a call that raised in a rule of ours is none of the program's",
    "freed_graph_lstm_state": "a module of PyTorch makes its first state with zeros, ours of numbers",
    "freed_graph_state_beside_result": "likewise",
    "hook_never_fires_in_module_hook": "pooling to a single entry is a mean for our engine",
    "inference_tensor_features": "PyTorch's call that raised had made a node",
    "missing_detach_distance_alone": "layers of one line that follow each other are taken for one composed call",
    "nan_origin_before_vmap": "transforms of torch.func are made of other calls",
    "nan_origin_inside_jvp": "likewise",
    "nondifferentiable_ranks": "PyTorch's argsort makes a node for the values that it leaves out",
    "optimizer_mismatch_of_teacher": "modules are copied by other calls",
    "optimizer_mismatch_template": "likewise",
}
"""Programs that differ in more, and why."""


SHARED = [p for p in pairs() if not (p.torch_only or p.twice)][::6]
"""A sixth of the programs that both engines run."""
SHARED = [p for p in SHARED if p.name not in PROGRAMS]


ALIKE = {"convolution": "conv2d"}
"""Names of our engine's operators, where a module of ours calls them without the function."""


def composed(event: Event) -> bool:
    """Whether our engine may make a call of several operators."""
    return event.op in COMPOSED or is_a(event.op, Trait.LOSS)


def merged(events: list[Event]) -> list[tuple[Event, list[int], list[int]]]:
    """Calls with inputs and outputs; steps of one composed function are one call."""
    found: list[tuple[Event, list[int], list[int]]] = []
    for event in events:
        inputs, outputs = list(event.data.get("inputs", ())), list(event.data.get("outputs", ()))
        if found and composed(event):
            before, given, made = found[-1]
            if (before.op, before.source) == (event.op, event.source) and set(made) & set(inputs):
                found[-1] = (event, sorted({*given, *inputs} - set(made)), outputs)
                continue
        found.append((event, sorted(inputs) if composed(event) else inputs, outputs))
    return found


def told(recording: Recording) -> list[tuple[Any, ...]]:
    """What is said of each call, its tensors by the order in which they come up."""
    clipped = {event.source for event in recording.events if event.kind == "clip"}
    calls = [event for event in recording.events if event.kind in CALLS]
    calls = [event for event in calls if event.op not in APART and event.source not in clipped]
    numbers: dict[int, int] = {}
    found = []
    for event, inputs, outputs in merged(calls):
        facts = [recording.tensors[tensor] for tensor in outputs]
        named = [numbers.setdefault(tensor, len(numbers)) for tensor in (*inputs, *outputs)]
        data = event.data
        found.append(
            (
                (event.kind, ALIKE.get(event.op, event.op), event.source.line if event.source else 0),
                sorted(named[: len(inputs)]) if composed(event) else named[: len(inputs)],
                named[len(inputs) :],
                [(tuple(one.shape), one.dtype, one.requires_grad) for one in facts],
                (data.get("grad"), data.get("inference"), data.get("reason"), "nodes" in data),
            )
        )
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", SHARED, ids=lambda pair: pair.name)
def test_both_sources_tell_the_same(pair: Pair, tmp_path: Path) -> None:
    """Calls of a program are the same events, whichever engine it runs on."""
    recordings = []
    for name, engine in (("torch", torch), ("retrograd", retrograd)):
        engine.manual_seed(0)
        recordings.append(record(pair.buggy, tmp_path, engine=name))

    assert told(recordings[1]) == told(recordings[0])

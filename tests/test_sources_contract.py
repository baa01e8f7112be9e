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
ORDERED_OTHERWISE = frozenset({"where", "embedding"})
"""Functions whose mask or index comes last among the inputs for our engine."""
APART = {
    "kaiming_uniform": "PyTorch tells a mode of the initialiser, our engine of what it draws",
    "uniform": "likewise, and drawn in no_grad",
    "normal": "likewise",
    "randn_like": "our engine tells that a tensor was made, not whose shape it has",
    "multinomial": "likewise, not whose probabilities were used",
    "zeros_like": "likewise",
    "from_numpy": "PyTorch tells no mode of it",
    "grad": "torch.autograd.grad is one call, and what it returns is told in another order",
}
"""Operators whose events differ, and why."""


PROGRAMS = """
    broadcast_chosen_rows broadcast_mse broadcast_weights broken_chain_of_a_listed_term
    broken_chain_second_detach broken_chain_wrapped cleared_gradient_behind_backward
    cleared_gradient_stepped_early create_graph_cycle_loop ddp_ready_twice_equal_parts
    ddp_ready_twice_own_reducer dead_relu_bias exploding_several_series exploding_under_slope
    frozen_parameter_never_on_and_caught graph_growth_evaluated_inline graph_growth_joined_curve
    graph_growth_local_list graph_growth_written_buffer hook_mutates_grad_mul missing_copy_mixed_by_function
    missing_create_graph_residual missing_detach_advantage missing_detach_modules missing_detach_teacher
    missing_zero_grad_clipped_weights missing_zero_grad_of_other_turn nan_origin_single_update
    nondeterminism_order_of_numbers nondeterminism_weights_before_seed nonscalar_backward_swallowed
    optimizer_mismatch_filtered_leaves optimizer_mismatch_rolled_back optimizer_mismatch_twins
    rank_divergence_extra_term rank_divergence_missing_part saturation_both_sides state_not_loaded_of_wrapper
    underflow_master_weights unused_parameter_copied_norm unused_parameter_never_called
    unused_parameter_returned vanishing_small_weights wrong_backward_shape_transposed
    wrong_double_backward_no_grad zero_gradient_hook_on_one_way
"""
"""Programs that both engines run, of each sort one or more.

Others differ where a call raised (no cut for our engine), in recomputations (which end a call earlier), in copies of
modules, in transforms of torch.func, in the first states of recurrent layers, in pooling to one entry (a mean), and in
layers of one line that follow each other without another call.
"""
ALIKE = {"convolution": "conv2d"}
"""Names of our engine's operators, where a module of ours calls them without the function."""


SHARED = [pair for pair in pairs() if pair.name in PROGRAMS.split()]


def composed(event: Event) -> bool:
    """Whether our engine may make a call of several operators."""
    return event.op in COMPOSED or is_a(event.op, Trait.LOSS)


def unordered(event: Event) -> bool:
    """Whether the order of the inputs tells nothing."""
    return composed(event) or event.op in ORDERED_OTHERWISE


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
        found.append((event, sorted(inputs) if unordered(event) else inputs, outputs))
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
                sorted(named[: len(inputs)]) if unordered(event) else named[: len(inputs)],
                named[len(inputs) :],
                [(tuple(one.shape), one.dtype, one.requires_grad) for one in facts],
                (data.get("grad"), data.get("inference"), data.get("reason"), "nodes" in data),
            )
        )
    return found


def modes(recording: Recording) -> list[tuple[Any, ...]]:
    """What is said of each switch of grad mode or inference mode, and of modules called with other tensors."""
    switches = [event for event in recording.events if event.kind == "grad-mode" and not event.data.get("own")]
    replaced = [event for event in recording.events if event.op == "functional_call"]
    keys = ("action", "grad", "before", "inference", "callee", "names")
    return [
        (event.op, event.source.line if event.source else 0, [event.data.get(key) for key in keys])
        for event in (*switches, *replaced)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", SHARED, ids=lambda pair: pair.name)
def test_both_sources_tell_the_same(pair: Pair, tmp_path: Path) -> None:
    """Calls of a program are the same events, whichever engine it runs on."""
    recordings = []
    for name, engine in (("torch", torch), ("retrograd", retrograd)):
        engine.manual_seed(0)
        recordings.append(record(pair.buggy, tmp_path, engine=name))

    assert told(recordings[1]) == told(recordings[0])
    assert modes(recordings[1]) == modes(recordings[0])

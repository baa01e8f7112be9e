"""Both engines record a program alike: the same events of every kind, the same graphs and figures of gradients."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bug_programs import pairs, record
from source_contract import KINDS_APART, arrived, differences, drawn, happened

import retrograd
from retrograd.inspect.operators import Trait, is_a
from retrograd.inspect.recording.event_data import DATA_OF_KIND
from retrograd.inspect.recording.events import Event, Recording

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


MORE = """
    broken_chain_closure broken_chain_switched_off checkpoint_mismatch_state cleared_gradient_by_product
    create_graph_cycle_cleared ctx_leak_exp ddp_ready_twice_two_losses deepcopy_nonleaf_list failed_transform_condition
    frozen_parameter_misspelt frozen_parameter_never_on_in_optimizer function_mutates_input_scale hook_leak_module
    inference_tensor_decorator inplace_modified_step leaf_inplace_chained left_in_evaluation_by_train_of_false
    nan_origin_hook no_derivative_of_eigenvectors nonleaf_grad_returned optimizer_mismatch_clipped
    state_not_loaded_of_another_name unused_parameter_replaced_by_constants wrong_function_returns_a_number
"""
"""Programs of which everything but calls is compared."""
UNLIKE = {
    "missing_zero_grad_clipped_weights": "one update is lost in rounding on one engine and not on the other",
    "nondeterminism_order_of_numbers": "draws from generators that no seed sets",
    "vanishing_small_weights": "an unnamed leaf of a list is called by its place there, or by the loop's variable",
}
"""Programs of which only calls are compared, and why.

Others would differ in rounding, draws or such names, too, in what ``torch.func`` records inside, in recurrent layers
(one node of PyTorch's, many of ours), and in which node is said to have failed where a hook behind it raised.
"""
TRAINING = """import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))
net.load_state_dict({"0.bias": torch.zeros(2), "1.scale": torch.ones(1)}, strict=False)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
x = torch.ones(4, 3)
on_module = net[0].register_forward_hook(lambda module, given, made: None)
net.eval()
for step in range(2):
    out = net(x)
    handle = out.register_hook(lambda g: g * 3)
    scaler.scale(out.sum()).backward()
    handle.remove()
    torch.nn.utils.clip_grad_value_(list(net.parameters()), 0.1)
    optimizer.step()
    schedule.step()
    net[0].weight.grad
    optimizer.zero_grad()
on_module.remove()
net[0].weight.data = torch.zeros(2, 3)
net[0].bias.requires_grad_(False)
net.train()
"""
"""A program with what the others have not: states, modes, schedules, scaled and clipped gradients, hooks taken off."""


def programs(*lists: str) -> list[Any]:
    """The buggy programs of these names."""
    names = " ".join(lists).split()
    return [pytest.param(pair.buggy, id=pair.name) for pair in pairs() if pair.name in names]


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


@cache
def recorded_on(engine: str, program: str, folder: Path) -> Recording:
    """What one engine records of a program; several tests ask."""
    {"torch": torch, "retrograd": retrograd}[engine].manual_seed(0)
    return record(program, folder, engine=engine)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs are written."""
    return tmp_path_factory.mktemp("programs")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", programs(PROGRAMS))
def test_both_sources_tell_the_same_calls(program: str, folder: Path) -> None:
    """Calls of a program are the same events, whichever engine it runs on."""
    theirs, ours = [recorded_on(engine, program, folder) for engine in ("torch", "retrograd")]

    assert told(ours) == told(theirs)


KEPT_APART = [name for name in PROGRAMS.split() if name not in UNLIKE]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [*programs(*KEPT_APART, MORE), pytest.param(TRAINING, id="training")])
def test_both_sources_tell_the_same_of_all_else(program: str, folder: Path) -> None:
    """Owners, hooks, Functions, leaves, passes: the same events in one order; graphs and their figures are the same."""
    recordings = [recorded_on(engine, program, folder) for engine in ("torch", "retrograd")]
    heads = [[one[:3] for one in happened(recording)] for recording in recordings]

    assert heads[1] == heads[0]
    assert differences(*[[one[3] for one in happened(recording)] for recording in recordings]) == []
    assert differences(*map(arrived, recordings)) == []
    assert differences(*[list(map(drawn, recording.graphs)) for recording in recordings]) == []


def test_every_kind_of_event_is_compared(folder: Path) -> None:
    """No kind that both sources can tell is missing in the programs above."""
    kinds = {"collective", "wrapper", "digests", "prepared", *KINDS_APART, *CALLS}  # of several processes
    kinds |= {"missed", "lost", "summary"}  # of neither source
    for program in [one.values[0] for one in programs(MORE)] + [TRAINING]:
        kinds |= {event.kind for event in recorded_on("retrograd", program, folder).events}

    assert kinds >= DATA_OF_KIND.keys()

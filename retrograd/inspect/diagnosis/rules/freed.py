"""Graphs that a backward pass needs and an earlier one has freed: which tensor carried the old graph over."""

from __future__ import annotations

from collections.abc import Iterator

from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.runs import Run
from ..queries.carried_tensors import CarriedTensor, carried_tensor, living_line
from ..roles.trained import kept_results
from ..text.phrases import FREED
from ..text.words import at, listed, place

KINDS = {
    "freed-graph": Kind("backward needs saved tensors that an earlier backward has freed", "error", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of a run that came too late."""
    refused = [run for run in flow.runs if FREED in run.error]
    if not refused:
        return
    failed = max((run for run in refused if run.begin < refused[0].end), key=lambda run: run.begin)  # the innermost
    earlier = [run for run in flow.runs if run.end < failed.begin and not run.error and not run.retains]
    shared = [run for run in earlier if flow.reached_by(run).calls & flow.reached_by(failed).calls]
    if not shared:
        return
    freeing = shared[-1]
    carried = carried_tensor(flow, freeing, failed)
    if failed.nested and freeing.nested and set(freeing.roots) & set(failed.roots):
        yield _in_rule(flow, freeing, failed)
    elif set(freeing.roots) & set(failed.roots):
        yield _twice(flow, freeing, failed)
    elif carried is not None and (carried.made_again or freeing.source == failed.source):
        yield _carried(flow, carried, freeing, failed)
    elif carried is not None:
        yield _shared(flow, carried, freeing, failed)
    else:
        yield _parallel(flow, freeing, failed)


CHECK = Check("freed", KINDS, find)


def _twice(flow: Flow, freeing: Run, failed: Run) -> Case:
    """Return the case of one loss that is run backward twice."""
    root = flow.root_name(failed)
    return Case(
        kind="freed-graph",
        message=f"backward of {root} runs a second time{at(failed.source)}: the first{at(freeing.source)} freed what "
        "the graph had saved.",
        remedy=f"call {root}.backward() once, or {root}.backward(retain_graph=True) the first time",
        source=failed.source,
        op="backward",
        explains_error=True,
    )


def _in_rule(flow: Flow, freeing: Run, failed: Run) -> Case:
    """Return the case of a graph that outlives the forward pass, of which each backward pass computes gradients."""
    root = flow.root_name(failed)
    made = flow.last_producer(failed.roots[0], failed.begin)
    passes = [next((one for one in flow.runs if one.begin < run.begin < one.end), run) for run in (freeing, failed)]
    kept = at(flow.events[made].source) if made is not None else ""
    outer = listed(f"{flow.root_name(one)}.backward(){at(one.source)}" for one in passes)
    return Case(
        kind="freed-graph",
        message=f"{root}, made{kept}, keeps one graph for several backward passes, {outer}: the first of them frees "
        f"it by the gradient that it computes{at(freeing.source)}, whatever that pass itself retains, and the other "
        f"needs it again{at(failed.source)}.",
        remedy=f"retain_graph=True where the gradient of {root} is computed{at(freeing.source)}, or compute {root} "
        "anew in each pass",
        source=freeing.source,
        op="grad",
        explains_error=True,
    )


def _parallel(flow: Flow, freeing: Run, failed: Run) -> Case:
    """Return the case of two losses of one forward pass, of which the first frees what the second needs."""
    first, second = flow.root_name(freeing), flow.root_name(failed)
    common = flow.reached_by(freeing).calls & flow.reached_by(failed).calls
    row = max(common)
    made = flow.events[row].data.get("outputs") or [None]
    name = flow.name(made[0]) if made[0] is not None else flow.events[row].op
    return Case(
        kind="freed-graph",
        message=f"{first}.backward(){at(freeing.source)} freed the graph of {name}{at(flow.events[row].source)}, which "
        f"{second} also needs{at(failed.source)}.",
        remedy=f"({first} + {second}).backward(), or {first}.backward(retain_graph=True)"
        if first != second
        else f"add up what is now {first} in each turn and call backward once after the loop, or "
        f"{first}.backward(retain_graph=True)",
        source=freeing.source,
        op="backward",
        explains_error=True,
        marks=flow.marks(failed, [row], "freed"),
    )


def _shared(flow: Flow, carried: CarriedTensor, freeing: Run, failed: Run) -> Case:
    """Return the case of a tensor that two losses use, of which the first is run backward before the second is made.

    As the output of a generator, which the loss of its critic was to take as data.
    """
    name, first, second = carried.name, flow.root_name(freeing), flow.root_name(failed)
    entry = max(row for row in flow.used_in[carried.tensor] if row in flow.reached_by(freeing).calls)
    taken = living_line(flow, entry, freeing)
    return Case(
        kind="freed-graph",
        message=f"{name}, made{at(carried.made_at)}, is used by two losses: {first}.backward(){at(freeing.source)} "
        f"freed its graph, and {second}, which uses it again{at(carried.used_at)}, needs that{at(failed.source)}.",
        remedy=f"{name}.detach(){at(taken)} if that loss is not to train what made {name}, else "
        f"{first}.backward(retain_graph=True)",
        source=freeing.source,
        op="backward",
        subjects=frozenset({carried.tensor}),
        explains_error=True,
        marks=flow.marks(failed, [carried.maker], f"freed by backward at {place(freeing.source)}"),
        evidence={"tensor": name, "made": list(carried.made_at or ()), "used": list(carried.used_at or ())},
    )


def _beside(flow: Flow, row: int) -> list[int]:
    """Return the parameters used by a call's line and the results, for example for all blocks of a network."""
    kept = kept_results(flow).items()
    return [
        one
        for result, (leaf, made) in kept
        if flow.events[made].source == flow.events[row].source
        for one in (leaf, result)
    ]


def _carried(flow: Flow, carried: CarriedTensor, freeing: Run, failed: Run) -> Case:
    """Return the case of a tensor that brought its old graph along."""
    name, again = carried.name, carried.made_again
    made, used = carried.made_at, carried.used_at
    kept = kept_results(flow).get(carried.tensor)
    if kept is not None and not again:
        made = flow.events[kept[1]].source
        message = (
            f"{name} is not a parameter itself: {flow.events[kept[1]].op} computed it from one{at(made)}, once. The "
            f"first backward{at(freeing.source)} freed that graph, and {place(used)} needs it again; nor can an "
            "optimizer train what is not a leaf."
        )
        remedy = f"make {name} itself the parameter: torch.nn.Parameter(...) around the finished value"
    elif again:
        message = (
            f"{name}, used again{at(used)}, still carries the graph of the iteration before, whose saved tensors were "
            f"freed by backward{at(freeing.source)}."
        )
        remedy = f"{carried.detached} at the end of each iteration"
    else:
        message = (
            f"{name} was computed only once{at(made)}, not in each iteration; the first backward{at(freeing.source)} "
            f"freed its graph, and{at(used)} it is used again."
        )
        remedy = f"compute {name} anew in each iteration, or use {name}.detach() if it needs no gradient"
    return Case(
        kind="freed-graph",
        message=message,
        remedy=remedy,
        source=used if again else made,
        op=flow.events[carried.user].op,
        subjects=frozenset({carried.tensor, *(_beside(flow, kept[1]) if kept is not None and not again else ())}),
        explains_error=True,
        marks=flow.marks(failed, [carried.maker], f"freed by backward at {place(freeing.source)}"),
        evidence={"tensor": name, "made": list(made or ()), "used": list(used or ())},
    )

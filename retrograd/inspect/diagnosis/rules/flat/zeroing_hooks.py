"""Hooks that turn every gradient into zeros: leaves behind them learn nothing through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ....graphs.graph import Graph
from ....program.places import SourceLine
from ....recording.events import Event
from ...base import Case
from ...facts.flow import Flow
from ...facts.hooks import target_kind
from ...text.spelling import receiver
from ...text.words import at, counted, function_name, listed, named
from ...thresholds import ASKED_OF_A_LINE, HABIT

_OF_MODULE = "BackwardHookFunction"
"""The node at which PyTorch calls backward hooks of modules."""


@dataclass(slots=True)
class _Line:
    """The hooks that one line registered."""

    event: Event
    ran: int = 0
    zeroed: int = 0
    tensors: dict[int, int] = field(default_factory=dict)
    """What they are on -> row at which the hook ran first."""


def zeroing_hooks(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose hooks zeroed every gradient that passed through them."""
    lost = _never_more_than_zero(flow)
    for line in [*_on_tensors(flow), *_on_modules(flow, lost)]:
        behind = set[int]()
        for tensor, row in list(line.tensors.items())[:ASKED_OF_A_LINE]:
            behind |= {tensor} if flow.trainable([tensor]) else flow.leaves_behind(flow.behind([tensor], row))
        starved = sorted(behind & lost)
        partly = bool(behind.intersection(flow.optimized)) and line.zeroed > 1
        if starved or partly:
            yield _case(flow, line, starved or sorted(behind), partly=not starved)


def _never_more_than_zero(flow: Flow) -> set[int]:
    """Return the leaves that got gradients of zeros only."""
    rows = flow.accumulated.items()
    return {leaf for leaf, arrived in rows if all(flow.events[row].data.get("grad_norm") == 0 for row in arrived)}


def _on_tensors(flow: Flow) -> Iterator[_Line]:
    """Yield the lines whose hooks on tensors zeroed all that they were given."""
    registered = {event.data.get("handle"): event for _, event in flow.of_kind("hook", action="registered")}
    lines: dict[tuple[SourceLine | None, object], _Line] = {}
    for row, event in flow.of_kind("hook", action="ran"):
        began = registered.get(event.data.get("handle"), event)
        if target_kind(event) != "tensor" or event.data.get(
            "in_place"
        ):  # a write into the gradient is an event by itself
            continue
        line = lines.setdefault((began.source, event.data.get("hook")), _Line(began))
        line.ran += 1
        line.zeroed += bool(event.data.get("zeroed"))
        line.tensors.setdefault(event.data.get("tensor", -1), row)
    yield from (line for line in lines.values() if line.zeroed == line.ran)


def _on_modules(flow: Flow, lost: set[int]) -> Iterator[_Line]:
    """Yield the line that registered backward hooks of modules, if gradients became zero at nodes of theirs.

    Which hook a node belongs to is not recorded, so there must be one such line.
    """
    hung = [event for _, event in flow.of_kind("hook", action="registered") if target_kind(event) == "module"]
    runs = [run for run in flow.runs if run.snapshot is not None and not run.error][-HABIT:]
    if not runs or len({event.source for event in hung}) != 1:
        return
    zeroing = [[node for node in range(len(flow.graph_of(run))) if _zeroes(flow.graph_of(run), node)] for run in runs]
    names = _leaves_behind(flow.graph_of(runs[-1]), zeroing[-1])
    behind = {leaf for leaf in flow.accumulated if flow.facts(leaf).name in names}
    leaves = behind & lost or (behind if all(zeroing) else set())
    if leaves:
        yield _Line(hung[0], sum(map(len, zeroing)), sum(map(len, zeroing)), dict.fromkeys(leaves, runs[-1].begin))


def _zeroes(snapshot: Graph, node: int) -> bool:
    """Whether hooks of a module run at a node, which was given a gradient and passed zeros on."""
    if not snapshot.op[node].startswith(_OF_MODULE) or not {"grad_norm", "out_norm"} <= set(snapshot.measures):
        return False
    return bool(snapshot.measures["grad_norm"][node]) and snapshot.measures["out_norm"][node] == 0


def _leaves_behind(snapshot: Graph, nodes: list[int]) -> set[str | None]:
    """Return the names of the leaves that gradients reach from some nodes."""
    following: dict[int, list[int]] = {}
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        following.setdefault(source, []).append(target)
    todo, seen = list(nodes), set(nodes)
    while todo:
        fresh = [node for node in following.get(todo.pop(), ()) if node not in seen]
        seen.update(fresh)
        todo += fresh
    return {snapshot.name[node] for node in seen if snapshot.kind[node] == "leaf" and snapshot.name[node]}


def _on(flow: Flow, line: _Line) -> str:
    """Return what the hooks of a line are registered on."""
    tensors = list(line.tensors)
    if target_kind(line.event) == "module":
        return f"the {line.event.data.get('type') or 'module'} module"
    if not any(map(flow.spelling.has_name, tensors)):
        return receiver(flow.spelling.text(line.event.source), "register_hook") or flow.name(tensors[0])
    return listed(flow.name(tensor, line.event.source) for tensor in tensors)


def _case(flow: Flow, line: _Line, leaves: list[int], *, partly: bool) -> Case:
    """Return the case of one line; ``partly``: other paths still give its leaves gradients."""
    event = line.event
    hook = function_name(event.data.get("hook")) or "a hook"
    on = _on(flow, line)
    names, ending = named(flow, leaves), "s" if len(leaves) == 1 else ""
    what = f"get{ending} nothing through {on}" if partly else f"get{ending} a gradient of zero"
    return Case(
        kind="zero-gradient",
        message=f"hook {hook} on {on}{at(event.source)} makes nothing but zeros of the gradient, which had other "
        f"entries ({counted(line.zeroed, 'call')}): {names} {what}.",
        remedy=f"return the gradient in {hook}, scaled at most; what is to stay as it is needs no hook: "
        "requires_grad_(False), or detach() in forward",
        source=event.source,
        op="register_hook",
        subjects=frozenset() if partly else frozenset(leaves),
        severity="warning" if partly else None,
        evidence={"hook": str(hook), "zeroed": line.zeroed},
    )

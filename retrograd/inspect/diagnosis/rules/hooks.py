"""Hooks that pile up, spoil the gradient they are given, or wait for one that never comes."""

from __future__ import annotations

from collections.abc import Iterator

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.hooks import hook_that_failed, is_code_of, target_kind
from ..text.phrases import OVERLAPPING
from ..text.spelling import is_name, out_of_place, receiver
from ..text.words import at, counted, function_name, times

KINDS = {
    "hook-leak": Kind("a hook is registered again and again", "error", Stage.STATEMENT),
    "hook-mutates-grad": Kind("a hook changes the gradient in place", "error", Stage.STATEMENT),
    "hook-never-fires": Kind("a hook waits on a tensor that the loss does not use", "error", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    if flow.rows.get("hook"):
        yield from _leaks(flow)
        yield from _refused(flow)
        yield from _mutating(flow)
        yield from _silent(flow)


CHECK = Check("hooks", KINDS, find)


def _removed(flow: Flow) -> dict[int, int]:
    """Return handle -> row at which the hook was removed."""
    return {event.data.get("handle", -1): row for row, event in flow.of_kind("hook", action="removed")}


def _ran(flow: Flow) -> dict[int, list[int]]:
    """Return handle -> rows at which the hook ran."""
    found: dict[int, list[int]] = {}
    for row, event in flow.of_kind("hook", action="ran"):
        found.setdefault(event.data.get("handle", -1), []).append(row)
    return found


def _owner(event: Event) -> tuple[str, object, object]:
    """Return what a hook is registered on: the kind of object and its number."""
    data = event.data
    return event.op, data.get("tensor"), data.get("owner") if data.get("tensor") is None else None


def _leaks(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that registered another copy of a hook on the same object, with a pass in between."""
    removed = _removed(flow)
    copies: dict[tuple[object, ...], list[tuple[int, Event]]] = {}
    for row, event in flow.of_kind("hook", action="registered"):
        owner = _owner(event)
        if owner[1] is not None or owner[2] is not None:
            copies.setdefault((owner, event.data.get("hook"), event.source), []).append((row, event))
    reported: set[SourceLine | None] = set()
    for found in copies.values():
        live = [(row, event) for row, event in found if event.data.get("handle") not in removed]
        if len(live) < 2 or live[0][1].source in reported:
            continue
        if flow.begun_between(live[0][0], live[-1][0]):
            reported.add(live[0][1].source)
            yield _leak_case(flow, live)


def _leak_case(flow: Flow, live: list[tuple[int, Event]]) -> Case:
    """Return the case of copies that one line registered."""
    event = live[0][1]
    name, hook, ran = _hung_on(flow, event), function_name(event.data.get("hook")) or "a hook", _ran(flow)
    fired = sum(len(ran.get(copy.data.get("handle", -1), [])) for _, copy in live)
    return Case(
        kind="hook-leak",
        message=f"{name} carries {len(live)} copies of hook {hook}: each step registers one again{at(event.source)} "
        "and none is removed" + (f", so it ran {times(fired)}." if fired else "."),
        remedy=f"register {hook} once, before the loop, or keep the handle and call handle.remove() in every step",
        source=event.source,
        op="register_hook",
        subjects=frozenset({event.data["tensor"]} if event.data.get("tensor") is not None else ()),
        evidence={"copies": len(live), "hook": str(hook)},
    )


def _hung_on(flow: Flow, event: Event) -> str:
    """Return the name of what a hook is registered on."""
    tensor = event.data.get("tensor")
    if tensor is not None:
        spelled = "" if flow.spelling.has_name(tensor) else receiver(flow.spelling.text(event.source), "register_hook")
        return spelled if is_name(spelled) else flow.name(tensor, event.source)
    return f"the {event.data.get('type') or 'module'} module" if target_kind(event) == "module" else "a node"


def _mutating(flow: Flow) -> Iterator[Case]:
    """Yield a case for each hook that changed the gradient it was given."""
    reported: set[object] = set()
    registered = {event.data.get("handle"): event for _, event in flow.of_kind("hook", action="registered")}
    asked: set[object] = set()
    for row, event in flow.of_kind("hook", action="ran", in_place=True):
        if event.data.get("handle") in asked:
            continue
        asked.add(event.data.get("handle"))
        began = registered.get(event.data.get("handle"), event)
        hook = function_name(event.data.get("hook") or began.data.get("hook")) or "a hook"
        write = _write_of(flow, row, began)
        source = write.source if write is not None else began.source or event.source
        if target_kind(event) == "post-accumulate" or source in reported:
            continue
        reported.add(source)
        name = _hung_on(flow, began)
        yield Case(
            kind="hook-mutates-grad",
            message=f"hook {hook} on {name} changes the gradient in place{at(source)}; the same buffer may go to other "
            "operations, whose gradients change with it.",
            remedy=_returned(flow, source) if write is not None else "return a new gradient: return grad * 0.5",
            source=source,
            op=write.op if write is not None else "register_hook",
            evidence={"registered": list(began.source or ())},
        )


def _returned(flow: Flow, source: SourceLine | None) -> str:
    """Return the statement by which a hook hands on a new gradient where one of its lines changes the old one."""
    changed = out_of_place(flow.spelling.text(source)).partition(" = ")
    if not changed[2]:
        return "work on a copy and return it: grad = grad.clone() first in the hook, return grad at its end"
    return f"{changed[0]} = {changed[2]}, and return {changed[0]} at the end of the hook"


def _refused(flow: Flow) -> Iterator[Case]:
    """Yield the case of a hook whose write into a gradient was refused, because one number stood for many entries."""
    began = hook_that_failed(flow) if OVERLAPPING in flow.error_text else None
    if began is None or flow.error is None:
        return
    hook, source = function_name(began.data.get("hook")) or "a hook", flow.error.source
    yield Case(
        kind="hook-mutates-grad",
        message=f"hook {hook} on {_hung_on(flow, began)} changes the gradient in place{at(source)}; it is not the "
        "hook's own: here its entries share memory (sum and mean hand one number to all), so the write is refused.",
        remedy="work on a copy and return it: grad = grad.clone() first in the hook, return grad at its end",
        source=source,
        op=flow.error.op,
        explains_error=True,
        evidence={"registered": list(began.source or ())},
    )


def _write_of(flow: Flow, row: int, hook: Event) -> Event | None:
    """Return the write in place, in the backward pass that a hook ran in, of its code that was nearest to that."""
    run = next((run for run in flow.runs if run.number == flow.events[row].data.get("run")), None)
    rows = [one for kind in ("inplace", "cut") for one in flow.rows.get(kind, ())]
    inside = [one for one in rows if run is None or run.begin < one < run.end]
    writes = [one for one in inside if any(_runs(hook, line) for line in flow.lines(one))]
    nearest = min((one for one in writes if flow.target(one) is not None), key=lambda one: abs(one - row), default=None)
    return None if nearest is None else flow.events[nearest]


def _runs(hook: Event, line: SourceLine) -> bool:
    """Whether a line is one of a hook, which may be an object that is called."""
    return is_code_of(hook, line) or line.function == "__call__"


def _silent(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line none of whose hooks ran in the passes that followed."""
    ran, removed = _ran(flow), _removed(flow)
    lines: dict[object, list[tuple[int, Event]]] = {}
    for row, event in flow.of_kind("hook", action="registered"):
        if target_kind(event) != "module":  # a package's line is one, from wherever the program calls for it
            lines.setdefault((event.source and event.source.inside) or event.source, []).append((row, event))
    for hung in lines.values():
        if any(event.data.get("handle") in ran for _, event in hung):
            continue
        row, event = hung[0]
        gone = removed.get(event.data.get("handle", -1), len(flow.events))
        runs = [run for run in flow.runs if row < run.begin < gone and not run.error]
        if runs:
            yield _silent_case(flow, event, event.source, len(runs))


def _silent_case(flow: Flow, event: Event, source: SourceLine | None, runs: int) -> Case:
    """Return the case of hooks that one line registered."""
    name, hook = _hung_on(flow, event), function_name(event.data.get("hook")) or "a hook"
    tensor = event.data.get("tensor")
    made = flow.facts(tensor).source if tensor is not None else None
    return Case(
        kind="hook-never-fires",
        message=f"hook {hook} on {name}{at(source)} never fired in {counted(runs, 'backward pass')}: the loss does not "
        f"depend on {name}" + (f", made{at(made)}." if made and made != source else "."),
        remedy=f"register it on the tensor that the loss is computed from, or use {name} in the loss",
        source=source,
        op="register_hook",
        subjects=frozenset({tensor} if tensor is not None else ()),
    )

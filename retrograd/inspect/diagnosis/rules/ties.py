"""Two leaves where one shared leaf was meant."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators import Trait
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..text.words import at, listed, place

KINDS = {"broken-tie": Kind("two leaves where one shared leaf was meant", "warning", Stage.STATEMENT)}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each pair of leaves of one graph of which one began as a copy of the other, or shares it."""
    for run in flow.runs:
        leaves = sorted(leaf for leaf in flow.leaves_behind(flow.reached_by(run)) if leaf in flow.accumulated)
        for leaf in leaves:
            original = _original(flow, leaf, set(leaves), flow.reached_by(run).calls)
            if original is not None:
                yield _case(flow, original, leaf)
        yield from _separated(flow, leaves)
        if leaves:
            return


CHECK = Check("unused", KINDS, find)


def _original(flow: Flow, leaf: int, leaves: set[int], calls: set[int]) -> int | None:
    """Return the leaf of the same graph from which another one was copied, or whose memory it shares."""
    sharing = [other for other in _sharing(flow, leaf) if other in leaves and other < leaf]
    if sharing:
        return sharing[0]
    seen, tensor, deep = {leaf}, leaf, False
    while True:
        rows = [row for row in flow.made_in.get(tensor, ()) if _passes_on(flow, row) and flow.inputs(row)]
        deep = deep or any(flow.does(row, Trait.COPY) and flow.does(row, Trait.READING) for row in rows[:1])
        given = (_given(flow, tensor) or (0, None))[1] if tensor == leaf else None
        deep = deep or given is not None
        tensor = given if given is not None else _copied_from(flow, tensor, leaf, rows)
        if tensor < 0 or tensor in seen:
            return None
        if tensor in leaves:
            return tensor if not deep or _apart(flow, calls, tensor, leaf) else None
        seen.add(tensor)


def _separated(flow: Flow, leaves: list[int]) -> Iterator[Case]:
    """Yield a case for each leaf that one line made two of, while it made one each of most others.

    As ``to_empty`` does with what two modules share; who copies a module several times makes as many of each.
    """
    lines: dict[SourceLine | None, dict[int, list[int]]] = {}
    for leaf in leaves:
        made = _made_like(flow, leaf)
        if made is not None:
            lines.setdefault(flow.events[made].source, {}).setdefault(flow.events[made].data["inputs"][0], []).append(
                leaf
            )
    for line, originals in lines.items():
        parted = [(one, made) for one, made in originals.items() if len(made) > 1]
        if line is not None and 2 * len(parted) < len(originals):
            yield from (_separated_case(flow, line, one, made) for one, made in parted)


def _made_like(flow: Flow, leaf: int) -> int | None:
    """Return the call that made a leaf, or what it wraps, like another leaf."""
    made = flow.facts(leaf).made_by
    if made is not None and flow.does(made, Trait.ENTERING) and flow.inputs(made):
        made = flow.facts(flow.inputs(made)[0]).made_by
    if made is None or not flow.does(made, Trait.LIKE, Trait.COPY, Trait.CAST):
        return None
    of = flow.events[made].data.get("inputs", [])
    return made if len(of) == 1 and of[0] != leaf and flow.trainable(of) else None


def _separated_case(flow: Flow, line: SourceLine, original: int, made: list[int]) -> Case:
    """Return the case of leaves that were one."""
    names = list(map(flow.name, made))
    was = flow.name(original) if flow.spelling.has_name(original) else "one parameter"
    return Case(
        kind="broken-tie",
        message=f"{listed(names)} were {was} until {place(line)}, which made {len(made)} of it and one of each "
        "other: they are not tied any more, and drift apart.",
        remedy=f"tie them again after this line: {names[-1]} = {names[0]}",
        source=line,
        subjects=frozenset(made[1:]),
        because=(f"{len(made)} leaves of the loss were made in the likeness of one",),
        evidence={"leaves": names, "shared_memory": False},
    )


def _passes_on(flow: Flow, row: int) -> bool:
    """Whether a call passes the values of a tensor on as they are, in another order perhaps."""
    whole = flow.does(row, Trait.VIEW) and not flow.does(row, Trait.PART)
    return whole or flow.does(row, Trait.COPY, Trait.CAST, Trait.ENTERING) or _overwrites(flow, row)


def _overwrites(flow: Flow, row: int) -> bool:
    """Whether a call puts one tensor in place of all entries of another."""
    writes = flow.does(row, Trait.WRITING) and flow.target(row) is not None and len(flow.inputs(row)) > 1
    return writes and not flow.does(row, Trait.INDEXING, Trait.CLEARING)


def _begins_with(flow: Flow, row: int, leaf: int) -> bool:
    """Whether a call puts a whole leaf into a larger one of as many columns, as for a table with new rows."""
    given = flow.inputs(row)[1:2] if flow.target(row) == leaf and flow.does(row, Trait.WRITING) else ()
    ends = [flow.facts(one).shape for one in (*given, leaf)]
    return len(ends) > 1 and ends[0][1:] == ends[1][1:] and ends[0] < ends[1]


def _copied_from(flow: Flow, tensor: int, leaf: int, rows: list[int]) -> int:
    """Return the tensor from which a tensor, or its base, was copied; -1 for none."""
    if rows:
        return flow.inputs(rows[0])[0]
    base = flow.facts(tensor).view_of if tensor != leaf else None
    return -1 if base is None else base


def _given(flow: Flow, leaf: int) -> tuple[int, int] | None:
    """Return the row that gave a leaf, before its first use in a graph, the values of a tensor; and that tensor.

    By ``.data =`` or ``copy_``.
    """
    first = next((row for row in flow.used_in.get(leaf, ()) if flow.has_node(row)), len(flow.events))
    given = [(row, event.data["given"]) for row, event in _written(flow, leaf) if row < first]
    for row in flow.writes_into(leaf):
        if row < first and (_overwrites(flow, row) or _begins_with(flow, row, leaf)):
            given += [(row, other) for other in flow.inputs(row)[1:2]]
    return max(given, default=None)


def _apart(flow: Flow, calls: set[int], *leaves: int) -> bool:
    """Whether calls use two leaves with other operators: one of copied layers is used as the layer that it copies."""
    first, second = ({flow.events[row].op for row in flow.used_in.get(leaf, ()) if row in calls} for leaf in leaves)
    return first.isdisjoint(second)


def _sharing(flow: Flow, leaf: int) -> list[int]:
    """Return the tensors that share the memory of a leaf, or of what its ``.data`` was set to."""
    given = [event.data["given"] for _, event in _written(flow, leaf)]
    return [other for tensor in [leaf, *given] for other in flow.same_memory(tensor)]


def _written(flow: Flow, leaf: int) -> list[tuple[int, Event]]:
    """Return (row, event) of each time a leaf was given the memory of another tensor."""
    rows = flow.leaf_events.get((leaf, "written"), ())
    return [(row, flow.events[row]) for row in rows if "given" in flow.events[row].data]


def _place(flow: Flow, leaf: int) -> SourceLine | None:
    """Return the line that gave a leaf its memory."""
    return next((event.source for _, event in _written(flow, leaf)), flow.facts(leaf).source)


def _case(flow: Flow, original: int, copy: int) -> Case:
    """Return the case of one pair."""
    first, second = flow.name(original), flow.name(copy)
    shared = original in _sharing(flow, copy)
    given = _given(flow, copy)
    source = flow.events[given[0]].source if given else flow.facts(copy).source
    source = _place(flow, copy) if shared else source
    how = "lies in the memory of" if shared else "began as a copy of"
    why = "each gets only its part of the gradient" if shared else "from the first step on they drift apart"
    return Case(
        kind="broken-tie",
        message=f"{second}{at(source)} {how} {first} but is a separate leaf: the two are not tied, and {why}.",
        remedy=_tied_again(flow, original, copy),
        source=source,
        subjects=frozenset({copy}),
        evidence={"leaves": [first, second], "shared_memory": shared},
    )


def _tied_again(flow: Flow, original: int, copy: int) -> str:
    """Return how to make one parameter of two."""
    first, second = flow.name(original), flow.name(copy)
    shapes = flow.facts(original).shape, flow.facts(copy).shape
    if shapes[0] == shapes[1]:
        return f"use the same parameter twice: {second} = {first}"
    if shapes[0][1:] == shapes[1][1:]:
        return f"give both modules the larger one: {first} = {second}"
    return f"use {first} itself, transposed, in place of {second}: {first}.t()"

"""``Run``: one recording divided into its steps (backward passes), as comparisons read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..graphs.align import plain_name
from ..graphs.columns import Plain
from ..graphs.graph import Graph
from ..program.places import SourceLine
from ..recording.events import Event, Recording


class Place(NamedTuple):
    """A node of one run, or a line of its program."""

    step: int | None
    """Number of the backward pass, from 0."""
    node: int | None
    op: str
    name: str
    source: SourceLine | None

    def to_plain(self) -> dict[str, Plain]:
        """Return the place as JSON values."""
        node = None if self.node is None else f"n{self.node}"
        line = self.source and self.source.plain()
        return {"step": self.step, "node": node, "op": self.op, "name": self.name, "source": line}


@dataclass(slots=True)
class Step:
    """One backward pass."""

    event: Event
    snapshot: Graph | None = None
    """None if there is no graph (a nested pass, a full recording)."""
    events: list[Event] = field(default_factory=list)
    """The events until it ended."""
    ended: bool = False
    end: Event | None = None
    """The event of its end."""


class Run:
    """One recording, divided into steps."""

    def __init__(self, recording: Recording, name: str) -> None:
        self.recording = recording
        self.name = name
        self.steps: list[Step] = []
        self._nested = 0
        """Backward passes running inside the last step."""
        self.error: Event | None = None
        """The error that ended the program, if there was one."""
        for event in recording.events:
            self._take(event)
        if not self.steps:  # a recording made by hand or by walk() has graphs only
            self.steps = [Step(Event("backward"), snapshot, ended=True) for snapshot in recording.graphs]

    def _take(self, event: Event) -> None:
        """Add one event; nested passes belong to the step around them."""
        nested = bool(event.data.get("nested"))
        if event.kind == "backward" and not nested:
            self.steps.append(Step(event, _snapshot(self.recording, event)))
        elif event.kind == "backward":
            self._nested += 1
        elif event.kind == "backward-end" and self._nested:
            self._nested -= 1
        elif event.kind == "backward-end" and self.steps:
            self.steps[-1].ended, self.steps[-1].end = True, event
        elif event.kind == "error":
            self.error = event
        elif self.steps and not self.steps[-1].ended:
            self.steps[-1].events.append(event)

    def place(self, step: int, node: int) -> Place:
        """Return a node of one step."""
        snapshot = self.steps[step].snapshot
        assert snapshot is not None
        return Place(step, node, snapshot.op[node], snapshot.name[node] or "", snapshot.source[node])


def _snapshot(recording: Recording, event: Event) -> Graph | None:
    number = event.data.get("snapshot")
    if isinstance(number, int) and 0 <= number < len(recording.graphs):
        return recording.graphs[number]
    return None


def ran(snapshot: Graph, node: int) -> bool:
    """Whether a node ran, if the recording knows it."""
    order = snapshot.measures.get("order")
    return order is None or order[node] is not None


def knows_order(snapshot: Graph) -> bool:
    """Whether the recording knows which nodes ran, and when; at level ``graph`` it does not."""
    return "order" in snapshot.measures


def all_leaves(snapshot: Graph) -> dict[str, int]:
    """Return the parameters: name without the wrapper's prefix -> node."""
    return {
        plain_name(name) or f"n{node}": node
        for node, (name, kind) in enumerate(zip(snapshot.name, snapshot.kind, strict=True))
        if kind == "leaf"
    }


def leaves(snapshot: Graph) -> dict[str, int]:
    """Return the parameters that got a gradient, as far as recorded."""
    return {name: node for name, node in all_leaves(snapshot).items() if ran(snapshot, node)}


def gradient_order(snapshot: Graph) -> tuple[str, ...]:
    """Return the parameters in the order in which their gradients were ready; empty if unknown."""
    order = snapshot.measures.get("order")
    if order is None:
        return ()
    found = [(order[node] or 0.0, name) for name, node in leaves(snapshot).items()]
    return tuple(name for _, name in sorted(found))


def hooks_run(step: Step) -> tuple[str, ...]:
    """Return the hooks that ran in a step, in order."""
    return tuple(
        f"{event.op} {event.data.get('hook', '')}".strip()
        for event in step.events
        if event.kind == "hook" and event.data.get("action") == "ran"
    )

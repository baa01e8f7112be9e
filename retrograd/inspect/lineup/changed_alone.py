"""Gradients that were reduced over ranks and then changed on some ranks only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..graphs.align import plain_name
from ..graphs.columns import Plain
from ..operators.collectives import Shares, shares
from ..program.places import SourceLine
from ..recording.events import Event
from .replica import Replica, sums
from .run import Run


@dataclass(frozen=True, slots=True)
class ChangedAlone:
    """A line that changes reduced gradients on some ranks."""

    names: tuple[str, ...]
    """The parameters."""
    source: SourceLine
    op: str
    runs: tuple[int, ...]
    """The ranks that change them."""
    reduced: SourceLine | None
    """A line that all-reduces the gradients."""

    def to_plain(self) -> dict[str, Plain]:
        """Return the fields as JSON values."""
        reduced = self.reduced and self.reduced.plain()
        names, runs = [*self.names], [*self.runs]
        return {"names": names, "source": self.source.plain(), "op": self.op, "runs": runs, "reduced": reduced}


def changed_alone(replicas: Sequence[Replica]) -> ChangedAlone | None:
    """Return the first line that changes all-reduced gradients on some ranks only."""
    by_rank = [_changes(one.run) for one in replicas]
    stepped = [{name for name, held in one.held.items() if held} for one in replicas]  # none where steps are by hand
    named = [{name for name, _ in one} for one in by_rank]
    reduced = set.intersection(*named) if named else set()
    reduced -= {name for name in reduced if 0 < sum(name in one for one in stepped) < len(stepped)}  # one steps for all
    lines: dict[tuple[SourceLine, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, one in enumerate(by_rank):
        for (name, _), changes in one.items():
            for change in changes if name in reduced else ():
                lines[change][name].append(number)
    for (source, op), names in lines.items():
        some = {tuple(numbers) for numbers in names.values() if len(numbers) < len(replicas)}
        if len(some) == 1:
            (numbers,) = some
            having = tuple(sorted(name for name, found in names.items() if tuple(found) == numbers))
            added = next(line for one in by_rank for (name, line) in one if name == having[0])
            return ChangedAlone(having, source, op, numbers, added)
    return None


def _changes(run: Run) -> dict[tuple[str, SourceLine | None], dict[tuple[SourceLine, str], None]]:
    """Return name and reducing line of each reduced gradient -> the lines that change it afterwards, in order."""
    tensors, found = run.recording.tensors, dict[tuple[str, SourceLine | None], dict[tuple[SourceLine, str], None]]()
    added: dict[str, SourceLine | None] = {}
    wrapped: set[str] = set()
    for event in run.recording.events:
        if event.kind == "accumulate":
            added.pop(_name(tensors[event.data.get("tensor", 0)].name), None)
        elif event.kind == "wrapper" and not event.data.get("sharded"):
            wrapped.update(_name(tensors[one].name) for one in event.data["inputs"])
        elif event.kind == "backward-end" or (sums(event) and Shares.SAME in shares(event.op)):
            by_hand = (_name(tensors[leaf].name) for leaf in event.data.get("gradients_of", ()))
            for name in wrapped if event.kind == "backward-end" else by_hand:
                added[name] = event.source
                found.setdefault((name, event.source), {})
        elif event.source is not None and event.kind in ("inplace", "clip"):
            written = event.data.get("inputs", ()) if event.kind == "clip" else (event.data.get("gradient_of"),)
            for name in (_name(tensors[one].name) for one in written if one is not None):
                if name in added:
                    _note(found[name, added[name]], event)
    return found


def _note(changes: dict[tuple[SourceLine, str], None], event: Event) -> None:
    """Note a line that changes a gradient, by the outermost function that it calls."""
    assert event.source is not None
    if event.kind == "clip":
        for inner in [change for change in changes if change[0] == event.source]:
            del changes[inner]
    changes[event.source, event.op] = None


def _name(name: str | None) -> str:
    return plain_name(name) or ""

"""Which parameters get a gradient from a backward pass, and which of those in its graph get none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graphs.graph import Graph
from ..recording.events import Recording
from .labels import clean, shape_text

_MOST_NAMED = 6
"""Parameters that are named one by one; of more their modules are,"""
_MOST_GROUPS = 3
"""as far in as there are no more than so many."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Which parameters a backward pass reaches."""

    count: int
    """Parameters that are in the graph."""
    total: int
    """Parameters that require a gradient."""
    without: tuple[str, ...]
    """Those that are in no graph of the recording: ``net.gate.weight 16×16``."""
    frozen: int = 0
    """Parameters that require none."""

    @property
    def headline(self) -> str:
        """Return ``4 of 6 parameters get a gradient``."""
        plural = "s" * (self.total != 1)
        frozen = f", {self.frozen:,} {'are' if self.frozen > 1 else 'is'} frozen" if self.frozen else ""
        if self.count == self.total:
            every = "all " * (self.total > 1 and not self.frozen)
            return f"{every}{self.total:,} parameter{plural} get{'s' * (self.total == 1)} a gradient{frozen}"
        elsewhere = self.total - self.count - len(self.without)
        more = f", {elsewhere:,} in other backward passes" if elsewhere else ""
        return f"{self.count:,} of {self.total:,} parameter{plural} get a gradient{more}{frozen}"

    @property
    def sentence(self) -> str:
        """Return which get none, and how to find out why; "" if there are none."""
        return unreached_words(self.without) if self.without else ""


def unreached_words(without: Sequence[str], *, asked: bool = False) -> str:
    """Return which parameters get no gradient, many of them by their modules, and how to find out why.

    Where a diagnosis was ``asked`` its findings say that.
    """
    named = list(without) if len(without) <= _MOST_NAMED else _by_module(without)
    return f"No gradient: {', '.join(named)}.{'' if asked else ' Ask why: retrograd diagnose'}"


def _by_module(words: Sequence[str]) -> list[str]:
    """Return what the innermost modules are called that hold all of many parameters and are few, and of how many."""
    deepest = max(word.count(".") for word in words)
    found: dict[str, list[str]] = {}
    for depth in range(1, deepest + 1):
        groups: dict[str, list[str]] = {}
        for word in words:
            groups.setdefault(".".join(word.split(".")[:depth]), []).append(word)
        if found and len(groups) > _MOST_GROUPS:
            break
        found = groups
    named = [
        inside[0] if len(inside) == 1 else f"{path} ({len(inside):,} parameters)" for path, inside in found.items()
    ]
    rest = sum(map(len, list(found.values())[_MOST_NAMED:]))
    return named[:_MOST_NAMED] + [f"{rest:,} more"] * (rest > 0)


def reached(recording: Recording) -> list[Reached | None]:
    """Return what each graph of a recording reaches, None if it is not known which parameters there are.

    Parameters are those of the modules that were called before the run, without the frozen ones.
    """
    found: list[Reached | None] = [None] * len(recording.graphs)
    ever = {key for snapshot in recording.graphs for key in _leaves(snapshot)}
    asked: dict[str, str] = {}
    frozen: set[int] = set()
    for event in recording.events:
        if event.kind == "module":
            asked |= _parameters(recording, event.data)
            frozen |= {event.data["parameters"][name] for name in event.data.get("frozen", ())}
        elif event.kind == "backward" and event.data.get("api") == "backward":
            number = event.data.get("snapshot")
            if number is not None and asked and not event.data.get("inputs"):
                here = _leaves(recording.graphs[number])
                without = tuple(words for key, words in asked.items() if key not in ever)
                found[number] = Reached(len(here), len(asked.keys() | here), without, len(frozen))
    return found


def _parameters(recording: Recording, data: dict[str, object]) -> dict[str, str]:
    """Return the parameters of a module that require a gradient, by scope and name, in words."""
    name, frozen = str(data.get("name", "")), data.get("frozen", ())
    scope = str(data.get("scope", name))
    held: dict[str, int] = data.get("parameters", {})  # type: ignore[assignment]
    found = {}
    for dotted, row in held.items():
        if dotted not in frozen:  # type: ignore[operator]
            words = f"{name}.{dotted} {shape_text(tuple(recording.tensors[row].shape))}"
            found[f"{scope}/{dotted.replace('.', '/')}"] = clean(words)
    return found


def _leaves(snapshot: Graph) -> set[str]:
    """Return the leaves of a graph by scope and name."""
    return {
        f"{snapshot.scope[node]}/{name.rpartition('.')[2]}" if snapshot.scope[node] else name
        for node, (kind, name) in enumerate(zip(snapshot.kind, snapshot.name, strict=True))
        if kind == "leaf" and name
    }

"""Compares the gradients of several runs: missing ones, the first non-finite one, norms that differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graphs.align import plain_name
from ..graphs.columns import Plain
from ..graphs.graph_diff import statistics_differ
from .run import Place, Run, Step, all_leaves, knows_order, leaves

_COUNTS = ("nan_count", "inf_count", "out_nan_count", "out_inf_count")


@dataclass(frozen=True, slots=True)
class Partial:
    """A parameter that got a gradient in some runs only."""

    step: int
    """The first such step."""
    name: str
    runs: tuple[int, ...]
    """Runs that had a gradient for it."""
    without: tuple[int, ...]

    def to_plain(self) -> dict[str, Plain]:
        """Return it as JSON values."""
        return {"step": self.step, "name": self.name, "runs": list(self.runs), "without": list(self.without)}


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The first value of a run that is NaN or infinite."""

    run: int
    place: Place
    phase: str
    """``"forward"`` or ``"backward"``."""
    what: str

    def to_plain(self) -> dict[str, Plain]:
        """Return it as JSON values."""
        return {"run": self.run, "place": self.place.to_plain(), "phase": self.phase, "what": self.what}


@dataclass(frozen=True, slots=True)
class NormGap:
    """A parameter whose gradient norms are not the same in all runs."""

    step: int
    name: str
    norms: tuple[float | None, ...]
    """One entry for each run."""
    expected: bool
    """Whether they may differ: before the all-reduce each rank has the gradient of its own data."""
    reduced: bool = False
    """Whether they are ``.grad`` after an all-reduce."""

    def to_plain(self) -> dict[str, Plain]:
        """Return it as JSON values; norms that are not finite are words."""
        norms = [norm if norm is None or math.isfinite(norm) else str(norm) for norm in self.norms]
        plain = {"step": self.step, "name": self.name, "norms": norms}
        return {**plain, "expected": self.expected, "reduced": self.reduced}


def partial_gradients(runs: list[Run]) -> list[Partial]:
    """Return the parameters that got a gradient in some runs only, each with its first such step."""
    found: dict[str, Partial] = {}
    for step in range(min((len(run.steps) for run in runs), default=0)):
        graphs = [graph for run in runs if (graph := run.steps[step].snapshot) is not None]
        if len(graphs) < len(runs):
            continue
        leaves_of = leaves if all(map(knows_order, graphs)) else all_leaves
        reached = [leaves_of(graph).keys() for graph in graphs]
        if all(names == reached[0] for names in reached):
            continue
        for name in sorted(set().union(*reached) - found.keys()):
            having = tuple(number for number, names in enumerate(reached) if name in names)
            lacking = tuple(number for number, names in enumerate(reached) if name not in names)
            if lacking:
                found[name] = Partial(step, name, having, lacking)
    return list(found.values())


def first_nonfinite(runs: list[Run]) -> list[NonFinite]:
    """Return the first non-finite value of each run that has one, earliest step and node first."""
    found = [(when, one) for number, run in enumerate(runs) for when, one in [_first_in(number, run)] if one]
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].run))]


def received(found: list[NonFinite]) -> set[int]:
    """Return the runs that received non-finite values from the first one, by all-reduced gradients of its step."""
    first = found[0].place.step or 0 if found else 0
    return {one.run for one in found if (one.place.step or 0) > first}


def _first_in(number: int, run: Run) -> tuple[tuple[int, int, float], NonFinite | None]:
    """Return when (step, forward before backward, order) and where a run first has a non-finite value."""
    step = -1
    for event in run.recording.events:
        if event.kind == "backward" and not event.data.get("nested"):
            step += 1
            odd = _odd_node(run, step) if step < len(run.steps) else None
            if odd is not None:
                order, node, what = odd
                return (step, 1, order), NonFinite(number, run.place(step, node), "backward", what)
        what = _odd_values(event.data)
        if what and event.kind == "operation":
            place = Place(step + 1, None, event.op, " ".join(event.data.get("output_names", [])), event.source)
            return (step + 1, 0, 0.0), NonFinite(number, place, "forward", what)
    if step < 0:
        for at in range(len(run.steps)):
            if (odd := _odd_node(run, at)) is not None:
                return (at, 1, odd[0]), NonFinite(number, run.place(at, odd[1]), "backward", odd[2])
    return (0, 0, 0.0), None


def _odd_values(data: dict[str, Any]) -> str:
    """Return the non-finite values among those that an event summarizes."""
    values = data.get("values")
    rows = values.values() if isinstance(values, dict) else ()
    counts = {word: sum(int(row.get(word) or 0) for row in rows if isinstance(row, dict)) for word in ("nan", "inf")}
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)


def _odd_node(run: Run, step: int) -> tuple[float, int, str] | None:
    """Return order, node and kind of the first node of a step with a non-finite gradient."""
    snapshot = run.steps[step].snapshot
    if snapshot is None:
        return None
    order = snapshot.measures.get("order")
    found = list(_odd_nodes(snapshot.measures))
    if not found:
        return None
    placed = [((order[node] or 0.0) if order else float(node), node, what) for node, what in found]
    return min(placed)


def _odd_nodes(measures: dict[str, list[float | None]]) -> Iterator[tuple[int, str]]:
    """Yield the nodes with a non-finite gradient, and its kind."""
    norms = measures.get("grad_norm", [])
    yield from ((node, "norm") for node, norm in enumerate(norms) if norm is not None and not math.isfinite(norm))
    for name in _COUNTS:
        for node, count in enumerate(measures.get(name, [])):
            if count:
                yield node, f"{int(count):,} {'nan' if 'nan' in name else 'inf'}"


def norm_gaps(runs: list[Run], tolerance: float, *, ranks: bool) -> list[NormGap]:
    """Return the parameters whose gradient norms differ between runs, each with its first such step.

    Runs of one program should have equal norms.  Ranks (``ranks``) have gradients of their own data at the nodes, which
    may differ.  ``.grad`` after a step should be equal if that step was all-reduced: then some parameter has gradients
    that differ at the nodes and agree in ``.grad``; inside ``no_sync()`` none has.
    """
    found: dict[tuple[str, bool], NormGap] = {}
    for step in range(min((len(run.steps) for run in runs), default=0)):
        own = _rows([node_norms(run.steps[step]) for run in runs])
        left = _rows([_kept_norms(run, run.steps[step]) for run in runs])
        apart, left_apart = _apart(own, tolerance), _apart(left, tolerance)
        reduced = any(name in left and name not in left_apart for name in apart)
        for row, names, expected in ((own, apart, ranks), (left, left_apart, ranks and not reduced)):
            for name in names:
                gap = NormGap(step, name, row[name], expected, reduced=reduced and not expected)
                found.setdefault((name, expected), gap)
    return [gap for (name, expected), gap in found.items() if not expected or (name, False) not in found]


def _rows(tables: list[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return the norms of the parameters that all runs have."""
    names = [name for name in (tables[0] if tables else {}) if all(name in table for table in tables)]
    return {name: tuple(table[name] for table in tables) for name in names}


def _apart(rows: dict[str, tuple[float, ...]], tolerance: float) -> list[str]:
    """Return the parameters whose norms differ between runs."""
    return [name for name, row in rows.items() if any(statistics_differ(row[0], one, tolerance) for one in row)]


def node_norms(step: Step) -> dict[str, float]:
    """Return the norm of the gradient that reached each parameter's node."""
    if step.snapshot is None:
        return {}
    norms = step.snapshot.measures.get("grad_norm", [])
    pairs = ((name, norms[node]) for name, node in leaves(step.snapshot).items() if norms)
    return {name: norm for name, norm in pairs if norm is not None}


def _kept_norms(run: Run, step: Step) -> dict[str, float]:
    """Return the recorded norm of each parameter's ``.grad`` at the end of the step."""
    noted = {} if step.end is None else step.end.data.get("kept_norms", {})
    tensors = run.recording.tensors
    names = {key: tensors[int(key)].name for key in noted if key.isdigit() and int(key) < len(tensors)}
    return {plain_name(name) or "": float(noted[key]) for key, name in names.items() if name}

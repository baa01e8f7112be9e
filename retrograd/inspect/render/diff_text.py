"""Comparisons as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..graphs.graph_diff import STATUSES, GraphDiff, NodeDiff, changes_text
from ..lineup.divergence import Divergence
from ..lineup.endings import Ending
from ..lineup.lineup import Lineup
from ..lineup.results import OtherResult
from ..lineup.run import Place
from .console_page import literal
from .json_text import json_text
from .labels import clean, short_op, source_text, tensor_text

ROWS = 20
"""Default number of lines of one list."""
STYLES = {"operator": "magenta", "removed": "yellow", "added": "blue", "shape": "cyan", "figures": ""}
_LONGEST = 300
"""Characters of an error's message."""
_SIGNS = {"operator": "≠", "removed": "-", "added": "+", "shape": "↔", "figures": "≈"}


def diff_json(found: Lineup | GraphDiff) -> str:
    """Return a comparison as JSON text."""
    return json_text(found.to_plain())


def lineup_parts(found: Lineup, rows: int = ROWS) -> Iterator[Any]:
    """Yield what rich shows of runs side by side."""
    for words, style in lineup_lines(found, rows):
        yield literal(words, style)
    if found.graphs and not (found.ranks and found.divergence is None):
        yield literal(f"Graphs of {_step(found.step)}, {found.names[0]} → {found.names[1]}", "bold")
        yield from graph_parts(found.graphs, rows)


def graph_parts(found: GraphDiff, rows: int = ROWS) -> Iterator[Any]:
    """Yield what rich shows of two graphs: a headline and a line for each difference, what explains most first."""
    yield literal(found.headline(), "bold")
    for node in sorted(found.nodes, key=lambda node: STATUSES.index(node.status))[:rows]:
        yield literal(f"  {_SIGNS[node.status]} {node_words(found, node)}", STYLES[node.status])
    if len(found.nodes) > rows:
        yield literal(f"  … {len(found.nodes) - rows:,} more (--rows shows more)", "italic")


def node_words(found: GraphDiff, node: NodeDiff) -> str:
    """Return ``n3 Mm w: shape 3×4 → 3×5  (train.py:12 → train.py:14)``."""
    side, row = (found.before, node.before) if node.after is None else (found.after, node.after)
    at = f"n{row}" if not node.changed or node.before == node.after else f"n{node.before} → n{node.after}"
    tensor = tensor_text(side.shape[row or 0], side.dtype[row or 0]) if not node.changed else ""
    lines = dict.fromkeys(source_text(line) for line in (node.source_before, node.source_after) if line is not None)
    head = " ".join(part for part in (at, short_op(clean(node.op)), clean(node.name or ""), tensor) if part)
    changes = "; ".join(map(clean, changes_text(node.changes)))
    where = f"  ({' → '.join(lines)})" if lines else ""
    return f"{head}{': ' if changes else ''}{changes}{where}"


def lineup_lines(found: Lineup, rows: int = ROWS) -> Iterator[tuple[str, str]]:
    """Yield the sentences about runs side by side, each with its style."""
    yield from _headlines(found)
    if found.divergence is not None:
        yield from _divergence_lines(found.divergence, found)
    if found.result is not None:
        yield _first_result(found.result), ""
    yield from _odd_lines(found)
    yield from _limited([*_partial_lines(found)], rows, "yellow")
    yield from _limited([*(_norm_lines(found) if found.ranks else _run_norms(found))], rows, "yellow")
    yield from _ending_lines(found)


def _first_result(result: OtherResult) -> str:
    """Return the sentence about the first result that differs; for diverging runs with both lines."""
    sides = f"{clean(result.before)} → {clean(result.after)}"
    if result.what == "call":
        return f"The first result that differs: {sides}"
    place = place_words(Place(None, None, result.op, result.name, result.source))
    return f"The first result that differs: {place}: {sides}"


def _headlines(found: Lineup) -> Iterator[tuple[str, str]]:
    """Yield how many runs there are and whether they differ, and what cannot be compared."""
    steps = [len(run.steps) for run in found.runs]
    count = str(steps[0]) if len(set(steps)) == 1 else ", ".join(map(str, steps))
    kind = f"{'rank' if found.ranks else 'run'}{'s' * (len(found.names) != 1)}"
    yield (
        f"{len(found.names)} {kind}, backward passes: {count}. {'They differ.' if found else 'No difference.'}",
        "bold",
    )
    levels = list(dict.fromkeys(run.recording.level for run in found.runs))
    if len(levels) > 1:
        yield f"Recorded at levels {' and '.join(map(clean, levels))}: what only some of them hold is not compared.", ""


def _ending_lines(found: Lineup) -> Iterator[tuple[str, str]]:
    """Yield how each run ended, unless all finished, and which runs left no recording."""
    if any(one.state != "finished" for one in found.endings):
        for one in found.endings:
            yield f"{clean(found.names[one.run])}: {ending_words(one)}", "" if one.state == "finished" else "red"
    if found.missing:
        lost = listed([f"rank {number}" for number in found.missing], range(len(found.missing)))
        yield (
            f"no recording of {lost}: not given, or none was left (killed? --flush-every N saves while it runs)",
            "red",
        )


def _divergence_lines(found: Divergence, lineup: Lineup) -> Iterator[tuple[str, str]]:
    """Yield where the runs diverge and, for more than two, which agree."""
    names = lineup.names
    if lineup.ranks:
        yield f"They diverge at {_step(found.step)}.", "bold red"
    else:
        yield f"First difference: backward pass {found.step}", "bold red"
    for group in found.groups if len(names) > 2 or lineup.ranks else ():
        yield f"  alike: {listed(names, group)}", ""
    for one in found.differences:
        yield f"  {listed(names, one.runs)}: other {one.what} — {clean(one.detail)}", "red"
        for words, place in ((names[found.groups[0][0]], one.here), (names[one.runs[0]], one.there)):
            if place is not None:
                yield f"    {clean(words)} at {place_words(place)}", ""


def _odd_lines(found: Lineup) -> Iterator[tuple[str, str]]:
    """Yield the first non-finite values."""
    for number, one in enumerate(found.nonfinite):
        first = "The first value that is not finite" if not number else "then"
        name = clean(found.names[one.run])
        steps = len(found.runs[one.run].steps)
        late = one.phase == "forward" and one.place.step == steps > 0
        when = f"after {_step(steps - 1)}" if late else f"{_step(one.place.step)}, {one.phase}"
        yield f"{first}: {name}, {when}: {place_words(one.place)} ({one.what})", "red"


def _partial_lines(found: Lineup) -> Iterator[str]:
    """Yield the parameters that only some runs have a gradient for."""
    for one in found.partial:
        names = listed(found.names, one.runs), listed(found.names, one.without)
        yield f"{clean(one.name)} got a gradient on {names[0]}, not on {names[1]} (from {_step(one.step)} on)"


def _norm_lines(found: Lineup) -> Iterator[str]:
    """Yield the gradients whose norms should agree and do not; those that may differ are counted."""
    for one in found.norms:
        if not one.expected:
            norms = ", ".join("none" if norm is None else f"{norm:.6g}" for norm in one.norms[:8])
            when = f"after the all-reduce of {_step(one.step)}" if one.reduced else f"at {_step(one.step)}"
            yield f"gradient norms of {clean(one.name)} should be equal {when} but are {norms}"
    free = len({one.name for one in found.norms if one.expected})
    if free:
        yield f"gradient norms of {free:,} parameter{'s' * (free != 1)} differ before the all-reduce, as they may"


def _run_norms(found: Lineup) -> Iterator[str]:
    """Yield the gradients whose norms are not the same in runs of one program."""
    for one in found.norms:
        norms = " → ".join(map(norm_words, one.norms[:8]))
        yield f"gradient norm of {clean(one.name)} at backward pass {one.step}: {norms}"


def _beginning(text: str) -> str:
    """Return the beginning of a message that fits a line: some list all parameters of a network."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def ending_words(one: Ending) -> str:
    """Return how a run ended: ``in backward pass 3: last n7 Mm (model.py:4), next n9 AccumulateGrad w``."""
    runs = f"{one.steps:,} backward pass{'es' * (one.steps != 1)}"
    if one.state == "finished":
        return f"finished, {runs}"
    if one.state == "cut off":
        return f"cut off after {runs}; {clean(one.message)}"
    if one.state == "waiting":
        return f"waits in {'' if one.last is None else place_words(one.last)} {clean(one.message)}, after {runs}"
    if one.state == "error":
        line = "" if one.last is None or one.last.source is None else f" at {source_text(one.last.source)}"
        return f"ended by {_beginning(clean(one.message))}{line}, after {runs}"
    last = "" if one.last is None else f" last finished {place_words(one.last)};"
    following = " nothing was left to run" if one.next is None else f" next would be {place_words(one.next)}"
    unknown = "not recorded" in one.message
    return f"stopped in {_step(one.steps - 1)} ({one.message}):" + (f"{last}" if unknown else f"{last}{following}")


def place_words(place: Place) -> str:
    """Return ``n7 Mm h (model.py:4)``."""
    node = "" if place.node is None else f"n{place.node}"
    line = "" if place.source is None else f"({source_text(place.source)})"
    words = (node, short_op(clean(place.op)), clean(place.name), line)
    return " ".join(part for part in words if part) or "an unknown line"


def listed(names: Sequence[str], numbers: Sequence[int]) -> str:
    """Return names of runs, or their count when there are many: ``rank 0, rank 1``, ``rank 2 and 61 more``."""
    words = [clean(names[number]) for number in numbers]
    return ", ".join(words) if len(words) <= 8 else f"{', '.join(words[:4])} and {len(words) - 4} more"


def norm_words(norm: float | None) -> str:
    """Return a norm for a cell."""
    return "" if norm is None else f"{norm:.4g}" if math.isfinite(norm) else str(norm)


def _step(number: int | None) -> str:
    return f"backward pass {number}"


def _limited(lines: list[str], rows: int, style: str) -> Iterator[tuple[str, str]]:
    """Yield at most so many lines, and the number of the others."""
    yield from ((line, style) for line in lines[:rows])
    if len(lines) > rows:
        yield f"… {len(lines) - rows:,} more (--rows shows more)", "italic"

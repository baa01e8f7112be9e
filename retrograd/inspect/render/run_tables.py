"""A watched run as text: curves as rows of small bars, a line for each parameter, and what happened."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..histories.comparison import differences
from ..histories.history import FIGURES_OF_STEPS, Array, Curves
from ..histories.watched_file import WatchedRun
from .json_text import json_text
from .labels import bytes_text, clean

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 40
"""Characters of a row of bars."""
_BARS = "▁▂▃▄▅▆▇█"


def run_parts(run: WatchedRun, rows: int | None = None) -> Iterator[Any]:
    """Yield what rich shows of a run: a headline, curves of the step, a line for each parameter, what happened."""
    from rich.text import Text

    yield Text(headline(run), style="bold")
    if not len(run.curves):
        yield Text("no step was seen, of an optimizer or between two backward passes", style="italic")
        return
    if run.about.get("steps"):
        yield Text(clean(str(run.about["steps"])), style="italic")
    yield _curves(run.curves)
    yield _parameters(run.curves, rows)
    for one in run.happened:
        yield Text(f"step {one.get('step', 0):,}: {clean(str(one.get('text', '')))}", style="italic")


def headline(run: WatchedRun) -> str:
    """Return ``train.py · 5,000 steps · 24 parameters · loss 2.3 → 0.41``."""
    losses = run.curves.of("loss")
    known = losses[~np.isnan(losses)]
    broken = any(one.get("trigger") == "nonfinite" for one in run.happened)
    last = losses[-1] if broken and len(losses) else known[-1] if len(known) else math.nan
    parts = [
        clean(str(run.about.get("script") or "watched run")),
        f"{run.steps:,} steps",
        f"{len(run.curves.owners('gradient')):,} parameters",
        f"loss {number(known[0])} → {'nan' if math.isnan(last) else number(last)}" if len(known) else "",
        "" if run.about.get("complete") else "cut off",
    ]
    return " · ".join(part for part in parts if part)


def comparison_parts(one: WatchedRun, other: WatchedRun, rows: int | None = None) -> Iterator[Any]:
    """Yield what rich shows of how a second run differs from a first one."""
    from rich.text import Text

    for place, run in (("first", one), ("second", other)):
        yield Text(f"{place}: {headline(run)}", style="bold")
    found = differences(one, other)
    if not found:
        yield Text("no difference in what was compared", style="italic")
        return
    table = _table("parameter", "")
    for difference in found[:rows]:
        table.add_row(clean(difference.what), difference.sentence)
    yield table
    if rows is not None and len(found) > rows:
        yield Text(f"and {len(found) - rows:,} more", style="italic")


def comparison_json(one: WatchedRun, other: WatchedRun) -> str:
    """Return how a second run differs from a first one as JSON."""
    found = [{"rank": each.rank, "what": each.what, "sentence": each.sentence} for each in differences(one, other)]
    return json_text({"schema": 1, "first": one.about, "second": other.about, "differences": found})


def run_json(run: WatchedRun) -> str:
    """Return the summary of a run as JSON: first, last, minimum and maximum of each statistic."""
    curves = run.curves
    named = {
        f"{column.figure}{':' if column.owner else ''}{column.owner}": _summary(curves, place)
        for place, column in enumerate(curves.columns)
    }
    return json_text({"schema": 1, "about": run.about, "steps": run.steps, "figures": named, "happened": run.happened})


def _summary(curves: Curves, place: int) -> dict[str, Any]:
    """Return the summary of one column."""
    known = curves.median[:, place]
    known = known[~np.isnan(known)]
    ends = (known[0], known[-1]) if len(known) else (math.nan, math.nan)
    least = np.fmin.reduce(curves.least[:, place], initial=math.nan)
    greatest = np.fmax.reduce(curves.greatest[:, place], initial=math.nan)
    values = {"first": ends[0], "last": ends[1], "least": least, "greatest": greatest}
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}


def sparkline(values: Array, width: int = WIDTH, *, log: bool = False) -> str:
    """Return at most ``width`` bars for a curve: ``!`` where it is not finite, a space where there is nothing."""
    pieces = np.array_split(np.asarray(values, np.float64), min(width, len(values)) or 1)
    found = np.array([_middle(piece) for piece in pieces])
    if log:
        with np.errstate(all="ignore"):
            found = np.log10(found)
    finite = found[np.isfinite(found)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return "".join(_bar(float(one), low, high) for one in found)


def _middle(piece: Array) -> float:
    """Return the median of some values; infinity or NaN only where nothing else is known."""
    known = piece[~np.isnan(piece)]
    return float(np.median(known)) if len(known) else math.nan


def _bar(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return " "
    if math.isinf(value):
        return "!" if value > 0 else _BARS[0]
    return _BARS[min(int((value - low) / (high - low) * len(_BARS)), len(_BARS) - 1)] if high > low else _BARS[3]


def number(value: float) -> str:
    """Return a number in at most seven characters."""
    return "" if math.isnan(value) else f"{value:.3g}"


def _bytes(value: float) -> str:
    return bytes_text(int(value))


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(
            column, justify="left" if column in ("", "parameter", "over the steps") else "right", no_wrap=True
        )
    return table


def _curves(curves: Curves) -> Table:
    """Return the statistics of whole steps."""
    table = _table("", "first", "last", "least", "greatest", "over the steps")
    for figure in FIGURES_OF_STEPS:
        for owner in curves.owners(figure):
            values = curves.of(figure, owner)
            known = values[~np.isnan(values)]
            if len(known):
                shown = _bytes if figure in ("memory", "held") else number
                cells = (shown(one) for one in (known[0], known[-1], known.min(), known.max()))
                table.add_row(f"{figure} {clean(owner)}".strip(), *cells, sparkline(values))
    return table


def _parameters(curves: Curves, rows: int | None) -> Table:
    """Return a line for each parameter: gradient and update ratio at the end, and how the gradient went."""
    table = _table("parameter", "gradient", "update ratio", "zeros", "not finite", "over the steps")
    for owner in curves.owners("gradient")[:rows]:
        gradient, ratio = curves.of("gradient", owner), curves.update_ratio(owner)
        zeros, bad = curves.of("zeros", owner), curves.of("nonfinite", owner)
        cells = (number(_last(gradient)), number(_last(ratio)), _share(_last(zeros)), _share(_greatest(bad)))
        table.add_row(clean(owner), *cells, sparkline(gradient, log=True))
    return table


def _last(values: Sequence[float] | Array) -> float:
    known = np.asarray(values)[~np.isnan(values)]
    return float(known[-1]) if len(known) else math.nan


def _greatest(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else math.nan


def _share(value: float) -> str:
    return "" if math.isnan(value) or value == 0 else f"{value:.0%}"

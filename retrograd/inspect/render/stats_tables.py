"""Statistics as tables for a terminal, or as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..graphs.passes import times_over_passes
from ..recording.events import Recording
from ..recording.memory_line import MemoryLine, retained_runs, thinned
from ..recording.saved_tensors import SavedTensor, saved_tensors
from ..recording.stats import ROWS, SCHEMA, NodeFigure, ParameterGradient, Statistics, statistics
from ..recording.unseen import launched_on
from .base import RenderOptions, chosen_steps
from .console_page import literal, page_text
from .json_text import json_text
from .labels import bytes_text, clean, range_text, short_op, source_text, tensor_text, time_text
from .reached import reached, unreached_words
from .titles import titles

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table
    from rich.text import Text

BAR = 20
"""Characters of the longest bar."""
_EIGHTHS, _LEVELS = " ▏▎▍▌▋▊▉", " ▁▂▃▄▅▆▇█"
_PAGE = 120
"""Columns of tables that go to no terminal."""
_LINE = 32
"""Characters of each half of a line over time."""


def chosen_statistics(
    recording: Recording, options: RenderOptions, rows: int | None = ROWS, *, saved: bool = False
) -> list[Statistics]:
    """Return the statistics of the graphs that ``options.step`` selects, with saved tensors if ``saved``."""
    known, retained, launched = reached(recording), retained_runs(recording), bool(launched_on(recording))
    found = []
    for step in chosen_steps(recording, options):
        over = times_over_passes(recording.graphs, step)
        one = statistics(recording.graphs[step], rows, retained=step in retained, over=over)
        one = _called(replace(one, launched=launched), titles(recording.graphs[step]))
        parameters = known[step]
        if parameters is not None:
            one = replace(one, parameters=parameters.headline, unreached=parameters.without)
        found.append(_with_saved(one, recording, step, rows) if saved else one)
    return found


def _called(one: Statistics, calls: Sequence[str]) -> Statistics:
    """Return statistics whose nodes are called as on cards, by what the program called."""
    tables = (one.slowest, one.largest)
    slowest, largest = ([replace(row, call=calls[int(row.node[1:])]) for row in table] for table in tables)
    return replace(one, slowest=slowest, largest=largest)


def _with_saved(one: Statistics, recording: Recording, step: int, rows: int | None) -> Statistics:
    """Return statistics with the saved tensors, or with a sentence if these were not recorded."""
    kept = [tensor for tensors in saved_tensors(recording, step).values() for tensor in tensors]
    largest = tuple(sorted(kept, key=lambda tensor: -tensor.bytes)[:rows])
    absent = [] if largest else ["Which tensors nodes keep was not recorded: record the run with `--level full`."]
    return replace(one, saved=largest, missing=[*one.missing, *absent])


def stats_text(found: Sequence[Statistics]) -> str:
    """Return the tables as plain text."""
    return page_text(stats_parts(found), width=_PAGE)


def stats_json(recording: Recording, found: Sequence[Statistics]) -> str:
    """Return statistics as one JSON text with a schema number."""
    plain = {
        "schema": SCHEMA,
        "script": recording.script,
        "engine": recording.engine,
        "graphs": [one.to_plain() for one in found],
    }
    return json_text(plain)


def stats_parts(found: Sequence[Statistics]) -> Iterator[Any]:
    """Yield what rich shows of statistics: for each graph a headline and its tables, and what is missing."""
    from rich.text import Text

    for number, one in enumerate(found):
        yield Text(("\n" if number else "") + _headline(one), style="bold")
        if one.unreached:
            yield Text(unreached_words(one.unreached), style="bold red")
        if one.slowest:
            over = f", median of {one.passes} passes, with quartiles" if one.passes > 1 else ""
            unit = "launch time" if one.launched else "time"
            yield _figures(f"Slowest nodes{over}", unit, one.slowest, [_time(row) for row in one.slowest])
        if one.largest:
            sizes = [bytes_text(int(row.value)) for row in one.largest]
            yield _figures("Largest saved values", "saved", one.largest, sizes)
        if one.saved:
            yield _saved(one.saved)
        if one.memory is not None:
            yield from _memory(one.memory)
        if any(row.grad_norm is not None for row in one.gradients):
            yield _Gradients(one)
        for sentence in one.missing:
            yield Text(sentence, style="italic")


def _saved(tensors: Sequence[SavedTensor]) -> Table:
    """Return the table of saved tensors."""
    table = _table("Saved tensors")
    for head, right in (("node", False), ("saved", True), ("tensor", False), ("values", False), ("made at", False)):
        table.add_column(head, justify="right" if right else "left", no_wrap=right)
    for one in tensors:
        what = " ".join(part for part in (clean(one.name), tensor_text(one.shape, one.dtype)) if part)
        words = (one.node, bytes_text(one.bytes), what, range_text(one), source_text(one.source))
        table.add_row(*map(literal, words))
    return table


def _memory(line: MemoryLine) -> Iterator[Any]:
    """Yield the bytes of saved tensors over time, and their holders at the peak."""
    from rich.text import Text

    parts = (line.held[: line.forward], line.held[line.forward :])
    made, freed = ("".join(_level(value, line.most) for value in thinned(part, _LINE)) for part in parts)
    after = f" {freed} backward" if freed else " (kept: nothing is let go)" * line.retained
    yield Text(f"\nSaved tensors over time: forward {made}{after}")
    where = f"peak {bytes_text(line.most)} after n{line.nodes[line.peak]}"
    unknown = f" · of {line.unknown:,} nodes it is not known what they keep" if line.unknown else ""
    yield Text(where + unknown)
    for head, holders in (("module", line.modules), ("line", line.lines)):
        table = _table(f"Held at the peak, by {head}")
        for title, right in ((head, False), ("held", True), ("share", True), ("", False)):
            table.add_column(title, justify="right" if right else "left", no_wrap=right)
        for one in holders:
            table.add_row(
                *map(literal, (clean(one.what), bytes_text(one.held), f"{one.share:.1%}", bar(one.share, 1.0)))
            )
        yield table


def _level(value: int, most: int) -> str:
    """Return a value as a bar one character high."""
    return _LEVELS[round((len(_LEVELS) - 1) * value / most)]


def bar(value: float | None, largest: float, width: int = BAR) -> str:
    """Return a bar of at most ``width`` characters for a value between 0 and ``largest``."""
    if value is None or not largest:
        return ""
    if not math.isfinite(value):
        return "!" * width
    eighths = round(8 * width * min(max(value / largest, 0.0), 1.0))
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def _headline(one: Statistics) -> str:
    """Return ``backward 3 · 41 nodes · 47 edges · 1.2 ms · 3.4 kB saved · torch``."""
    time = "" if one.time_us is None else time_text(one.time_us)
    saved = "" if one.saved_bytes is None else f"{bytes_text(one.saved_bytes)} saved"
    counts = (f"{one.nodes:,} nodes", f"{one.edges:,} edges")
    parts = (clean(one.label), *counts, time, saved, one.engine, one.parameters)
    return " · ".join(part for part in parts if part)


def _table(title: str) -> Table:
    """Return an empty table in our look."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)


def _figures(title: str, unit: str, rows: list[NodeFigure], values: list[str]) -> Table:
    """Return the table of nodes selected by a value."""
    table = _table(title)
    for head, right in (("node", False), (unit, True), ("share", True), ("operator", False), ("where", False)):
        table.add_column(head, justify="right" if right else "left", no_wrap=right)
    for row, value in zip(rows, values, strict=True):
        words = (row.node, value, f"{row.share:.1%}", clean(row.call) or short_op(clean(row.op)), _where(row))
        table.add_row(*map(literal, words))
    return table


def _time(row: NodeFigure) -> str:
    """Return a time, with its spread over several passes."""
    return time_text(row.value) + (f" ({' to '.join(map(time_text, row.spread))})" if row.spread else "")


def _where(row: NodeFigure) -> str:
    """Return name, scope and line of a node."""
    parts = (clean(row.name or ""), clean(row.scope), source_text(row.source))
    return " · ".join(part for part in parts if part)


_COLUMNS = ("parameter", "shape", "norm", "", "min", "max", "mean", "zeros", "NaN", "Inf")
_DISPENSABLE = ((), ("mean",), ("mean", "min", "max"), ("mean", "min", "max", "shape"), ("shape", *_COLUMNS[3:]))
"""Columns of gradients that are left out of a terminal that is too narrow: as few as possible."""
_NAME_ROOM = 24
"""Width below which a parameter's name is not folded."""


class _Gradients:
    """The table of gradients by parameter, which rich asks for when it knows how much room there is."""

    def __init__(self, one: Statistics) -> None:
        self._one = one

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        empty = {head for head, place in (("NaN", "nan_count"), ("Inf", "inf_count")) if not self._any(place)}
        endless = options.update(width=10_000)
        for left_out in _DISPENSABLE:
            columns = [head for head in _COLUMNS if head not in {*left_out, *empty}]
            measured = _gradients(self._one, columns, _NAME_ROOM).__rich_measure__(console, endless)
            if measured.maximum <= options.max_width:
                break
        yield _gradients(self._one, columns)

    def _any(self, place: str) -> bool:
        return any(getattr(row, place) for row in self._one.gradients)


def _gradients(one: Statistics, columns: Sequence[str], name_room: int | None = None) -> Table:
    """Return the table of gradients by parameter; names are folded to ``name_room``, or where they must be."""
    from rich.cells import cell_len

    finite = [row.grad_norm for row in one.gradients if row.grad_norm is not None and math.isfinite(row.grad_norm)]
    table = _table("Gradients by parameter")
    longest = max((cell_len(clean(row.name or row.node)) for row in one.gradients), default=0)
    least = max(min(longest, _NAME_ROOM), len(_COLUMNS[0]))
    for head in columns:
        if head == "parameter":
            table.add_column(head, min_width=least, max_width=name_room)
        else:
            table.add_column(head, justify="left" if head in ("shape", "") else "right", no_wrap=True)
    for row in one.gradients:
        cells = _gradient_cells(row, max(finite, default=0.0))
        table.add_row(*(cells[head] for head in columns))
    if one.leaves > len(one.gradients):
        table.caption = f"{one.leaves - len(one.gradients):,} more parameters (--rows shows more)"
    return table


def _gradient_cells(row: ParameterGradient, largest: float) -> dict[str, Text]:
    """Return the cells of one parameter by their columns."""
    odd = any(count for count in (row.nan_count, row.inf_count))
    odd = odd or (row.grad_norm is not None and not math.isfinite(row.grad_norm))
    zeros = "" if row.zero_share is None else f"{row.zero_share:.0%}"
    numbers = (row.grad_min, row.grad_max, row.grad_mean)
    words = [clean(row.name or row.node), tensor_text(row.shape, row.dtype), _number(row.grad_norm)]
    words += [bar(row.grad_norm, largest or 1.0), *map(_number, numbers), zeros]
    words += [_count(row.nan_count), _count(row.inf_count)]
    return {head: literal(word, "bold red" if odd else "") for head, word in zip(_COLUMNS, words, strict=True)}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _count(value: float | None) -> str:
    return f"{int(value):,}" if value else ""

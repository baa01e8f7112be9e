"""Several runs side by side as one offline HTML page with a column for each run; no script, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ...errors import NoGraphError
from ..graphs.graph import Graph
from ..graphs.graph_diff import GraphDiff
from ..lineup.gradients import NonFinite
from ..lineup.lineup import Lineup
from .base import RenderOptions
from .diff_picture import chosen_diff, diff_picture, sides
from .diff_text import ending_words, lineup_lines, norm_words, place_words
from .formats.svg import RENDERER as SVG
from .labels import clean, short_op, source_text, tensor_text

AROUND = 12
"""Nodes shown before and after the first difference."""
_STYLE = """
:root{color-scheme:light dark;--ink:#1b2330;--paper:#fff;--muted:#5a6675;--rim:#ccd4de;--odd:#fde8d7;--head:#eef1f5}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--paper:#14181e;--muted:#9aa7b7;--rim:#3a4553;--odd:#43220b;
--head:#1d232c}}
body{font:14px/1.45 -apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;color:var(--ink);background:var(--paper);
margin:24px}
h1{font-size:20px}h2{font-size:16px;margin-top:28px}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:12.5px}th,td{border:1px solid var(--rim);padding:4px 8px;text-align:left;
vertical-align:top;max-width:320px;overflow-wrap:anywhere}thead th{background:var(--head);position:sticky;top:0}
tbody th{background:var(--head);position:sticky;left:0;font-weight:600}.odd{background:var(--odd)}
.muted{color:var(--muted)}.drawing svg{max-width:100%;height:auto}pre{white-space:pre-wrap;font:inherit}
"""


def lineup_page(found: Lineup, options: RenderOptions) -> str:
    """Return the page."""
    title = options.title or f"{len(found.names)} {'ranks' if found.ranks else 'runs'} side by side"
    said = "\n".join(words for words, _ in lineup_lines(found, rows=200))
    body = [
        f"<h1>{_text(title)}</h1>\n<pre>{_text(said, lines=True)}</pre>\n",
        _section("Both graphs in one", _drawing(found, options)),
        _section("Runs", _table(found, _run_rows(found))),
        _section("Around the first difference, oldest node first", _table(found, _node_rows(found))),
        _section("Gradient norms that differ", _table(found, _norm_rows(found))),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_text(title)}</title>'
    page = f'<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>{"".join(body)}</body></html>'
    return f"<!DOCTYPE html>\n{page}\n"


Row = tuple[str, Sequence[tuple[str, bool]]]
"""A heading, and for each run its text and whether that differs from the others."""


def _run_rows(found: Lineup) -> Iterator[Row]:
    """Yield rows about whole runs."""
    yield "program", [(run.recording.script, False) for run in found.runs]
    yield "backward passes", _marked([str(len(run.steps)) for run in found.runs])
    if found.divergence is not None:
        groups = {number: place for place, group in enumerate(found.divergence.groups) for number in group}
        words = [f"group {groups[number] + 1}" for number in range(len(found.runs))]
        yield f"alike at backward pass {found.divergence.step}", _marked(words)
        parted = {number: one for one in found.divergence.differences for number in one.runs}
        details = [parted[number].detail if number in parted else "" for number in range(len(found.runs))]
        yield "difference", [(detail, bool(detail)) for detail in details]
    yield "end", _marked([ending_words(one) for one in found.endings])
    odd = {one.run: one for one in found.nonfinite}
    if odd:
        words = [_odd_words(odd[number]) if number in odd else "" for number in range(len(found.runs))]
        yield "first value not finite", [(word, bool(word)) for word in words]
    for one in found.partial:
        words = ["gradient" if number in one.runs else "none" for number in range(len(found.runs))]
        yield f"{one.name} (run {one.step})", _marked(words)


def _odd_words(one: NonFinite) -> str:
    """Return step, phase and place of a non-finite value."""
    return f"run {one.place.step}, {one.phase}: {place_words(one.place)} ({one.what})"


def _node_rows(found: Lineup) -> Iterator[Row]:
    """Yield the nodes of the largest group around the first difference, and what each run has in their place."""
    parted = found.divergence.differences if found.divergence else []
    diffs = [one for one in parted if one.graphs is not None]
    if not diffs or diffs[0].graphs is None:
        return
    base = diffs[0].graphs.before
    others: dict[int, GraphDiff] = {number: one.graphs for one in diffs for number in one.runs if one.graphs}
    order = sorted(range(len(base)), key=lambda node: (base.seq[node] is None, base.seq[node] or 0, -node))
    touched = {node.before for one in diffs if one.graphs for node in one.graphs.nodes}
    first = next((place for place, node in enumerate(order) if node in touched), 0)
    for node in order[max(0, first - AROUND) : first + AROUND + 1]:
        cells = [_cell(others.get(number), base, node) for number in range(len(found.runs))]
        yield f"n{node} {short_op(clean(base.op[node]))} {source_text(base.source[node])}", cells


def _cell(diff: GraphDiff | None, base: Graph, node: int) -> tuple[str, bool]:
    """Return a run's node that corresponds to a node of the largest group."""
    if diff is None:
        return _node_words(base, node), False
    other = diff.match[node]
    if other is None:
        return "missing", True
    words = _node_words(diff.after, other)
    return words, words != _node_words(base, node)


def _node_words(snapshot: Graph, node: int) -> str:
    tensor = tensor_text(snapshot.shape[node], snapshot.dtype[node])
    return " ".join(word for word in (short_op(snapshot.op[node]), snapshot.name[node], tensor) if word)


def _norm_rows(found: Lineup) -> Iterator[Row]:
    """Yield the gradients whose norms differ."""
    for one in found.norms:
        when = "may differ before the all-reduce" if one.expected else "should be equal"
        yield f"{one.name} (run {one.step}, {when})", [(norm_words(norm), not one.expected) for norm in one.norms]


def _drawing(found: Lineup, options: RenderOptions) -> str:
    """Return the picture of the two graphs that differ, or nothing."""
    try:
        diff = chosen_diff(found)
    except NoGraphError:
        return ""
    if not diff:
        return ""
    picture = SVG.render(*diff_picture(diff, sides(found), options))
    text = picture if isinstance(picture, str) else picture.decode()
    return f'<div class="drawing">{text[text.index("<svg") :]}</div>'


def _marked(words: list[str]) -> list[tuple[str, bool]]:
    """Mark the cells that differ from those of most runs."""
    usual = max(dict.fromkeys(words), key=words.count)
    return [(word, word != usual) for word in words]


def _table(found: Lineup, rows: Iterator[Row]) -> str:
    """Return a table with a column for each run, or nothing if it has no rows."""
    lines = [f"<tr><th>{_text(head)}</th>{''.join(map(_td, cells))}</tr>\n" for head, cells in rows]
    if not lines:
        return ""
    heads = "".join(f"<th>{_text(name)}</th>" for name in found.names)
    table = f"<thead><tr><th></th>{heads}</tr></thead><tbody>\n{''.join(lines)}</tbody>"
    return f'<div class="wide"><table>{table}</table></div>'


def _td(cell: tuple[str, bool]) -> str:
    words, odd = cell
    return f"<td{' class=odd' if odd else ''}>{_text(words)}</td>"


def _section(title: str, content: str) -> str:
    """Return a headed part of the page, or nothing if it is empty."""
    return f"<h2>{_text(title)}</h2>\n{content}\n" if content else ""


def _text(words: str, *, lines: bool = False) -> str:
    """Return text for HTML without control characters; lines and their indents are kept if asked for."""
    if not lines:
        return escape(clean(words))
    return "\n".join(line[: len(line) - len(line.lstrip(" "))] + _text(line) for line in words.split("\n"))

"""The SVG groups of a drawing: one function for each kind of thing, text escaped, ids stable."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Iterator, Sequence

from ..graphs.graph import IDLE
from ..layout import Box, Point
from . import labels
from .card_words import Line
from .cards import PAD, PILE, TEXT_SIZE, Card


@functools.lru_cache(maxsize=65536)
def number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


@functools.lru_cache(maxsize=16384)
def text(value: str) -> str:
    """Return a text for use between tags or in a quoted attribute."""
    return html.escape(labels.clean(value), quote=False).replace('"', "&quot;")


def tip_name(prefix: str, status: str = "") -> str:
    """Return the id of the arrow head of edges, or of those that only one side of a comparison has."""
    return f"{prefix}tip-{status}" if status else f"{prefix}tip"


STOP = "stop"
"""Name of the bar at the end of a line that a gradient does not come to."""


def tip(prefix: str, status: str = "") -> str:
    """Return an arrow head or bar; each colour needs one of its own, for few readers let it take that of its line."""
    css = f"tip {status}" if status else "tip"
    turn = "auto-start-reverse" if status in ("back", STOP) else "auto"  # gradients leave a line where values begin
    shape, size = ("M8 0H10V10H8z", 12) if status == STOP else ("M0 1L10 5L0 9z", 7)
    return (
        f'<defs><marker id="{tip_name(prefix, status)}" viewBox="0 0 10 10" refX="9.5" refY="5" '
        f'markerWidth="{size}" markerHeight="{size}" markerUnits="userSpaceOnUse" orient="{turn}">'
        f'<path class="{css}" d="{shape}"/></marker></defs>'
    )


def node_group(name: str, box: Box, card: Card, inside: str) -> str:
    """Return the group of one card around what ``card_markup`` made."""
    return f'<g class="{card.css}" id="{name}" transform="translate({number(box.x)} {number(box.y)})">{inside}</g>'


def card_markup(card: Card, tooltip: str, row_links: Sequence[tuple[str, str]] = (), link: str = "") -> str:
    """Return the content of a card's group.

    ``link`` is the id that its title leads to; ``row_links`` are the ids of its parameters, each with the id that it
    leads to or "".
    """
    shift = PILE if card.stacked else 0.0
    wide, high = number(card.size.width - shift), number(card.size.height - shift)
    pile = ""
    if card.stacked:
        pile = "".join(
            f'<rect class="card" x="{number(by)}" y="{number(by)}" width="{wide}" height="{high}" rx="6"/>'
            for by in (PILE, PILE / 2)
        )
    title = f'<text class="b" x="{number(PAD)}" y="20">{text(card.title)}{_ending(card.ending)}</text>'
    if link:
        title = f'<a href="#{link}">{title}</a>'
    rows = "".join(_rows(card, row_links))
    return (
        f"<title>{tooltip}</title>{pile}"
        f'<rect class="card" width="{wide}" height="{high}" rx="6"/>'
        f'<path class="strip" d="M6 0H4V{high}H6A6 6 0 0 1 0 {number(card.size.height - shift - 6)}V6A6 6 0 0 1 6 0z"/>'
        f"{title}{rows}"
    )


def _ending(words: str) -> str:
    """Return the muted end of a title; a blank before it is kept as a space on the line."""
    if not words:
        return ""
    gap = ' dx="6"' if words.startswith(" ") else ""
    return f'<tspan class="m"{gap}>{text(words)}</tspan>'


def _rows(card: Card, row_links: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a card below its title."""
    parameters = iter(row_links)
    for row, line in enumerate(card.lines):
        y = 37 + 15 * row
        if line.leaf >= 0:
            yield _parameter(line, y, *next(parameters))
            continue
        mark = f' class="{line.css}"' if line.css else ""
        yield f'<text{mark} x="{number(PAD)}" y="{y}">{text(line.text)}</text>'


def _parameter(line: Line, y: int, name: str, following: str) -> str:
    """Return the line of a parameter; one that is used elsewhere as well leads to its next use, ``following``."""
    words = f'<text x="{number(PAD + TEXT_SIZE)}" y="{y}">{text(line.text)}</text>'
    if following:
        words = f'<a href="#{following}">{words}</a>'
    dot = f"dot {IDLE}" if line.css == IDLE else "dot"
    bullet = f'<circle class="{dot}" cx="{number(PAD + 3.5)}" cy="{y - 4}" r="3.5"/>'
    return f'<g class="parameter" id="{name}">{bullet}{words}</g>'


def frame_group(name: str, box: Box, title: tuple[str, str], tooltip: str, at: float, *, lighter: bool) -> str:
    """Return the group of an open scope: the frame around what it holds, its title's ending ``at`` a distance."""
    x, y = number(box.x), number(box.y)
    css = "frame lighter" if lighter else "frame"
    ending = _ending(title[1])
    if at and ending:
        ending = f'<tspan class="m" x="{number(box.x + at)}">{text(title[1])}</tspan>'
    words = text(title[0]) + ending
    return (
        f'<g class="scope" id="{name}"><title>{tooltip}</title>'
        f'<rect class="{css}" x="{x}" y="{y}" width="{number(box.width)}" height="{number(box.height)}" rx="10"/>'
        f'<text class="f" x="{number(box.x + 12)}" y="{number(box.y + 19)}">{words}</text></g>'
    )


def edge_group(
    ends: tuple[int, int],
    points: list[Point],
    words: Iterable[tuple[str, Point | None]],
    tooltip: str,
    tips: tuple[str, str],
    css: str = "edge",
    link: str = "",
) -> str:
    """Return the group of one edge: what it joins, its line, its labels (which may lead to an id).

    Labels come with their places, if they have one; ``tips`` are the ids of the arrow heads at end and start, or "".
    """
    written = "".join(
        f'<text x="{number(at[0])}" y="{number(at[1] + 3.5)}">{text(word)}</text>' for word, at in words if word and at
    )
    if link and written:
        written = f'<a href="#{link}">{written}</a>'
    back = f' marker-start="url(#{tips[1]})"' if tips[1] else ""
    return (
        f'<g class="{css}" data-edge="{ends[0]} {ends[1]}"><title>{tooltip}</title>'
        f'<path d="{path_data(points)}" marker-end="url(#{tips[0]})"{back}/>{written}</g>'
    )


def path_data(points: list[Point]) -> str:
    """Return Bezier points as path data, vertical pieces written short."""
    x, y = points[0]
    parts = [f"M{number(x)} {number(y)}"]
    for index in range(1, len(points), 3):
        (x1, y1), (x2, y2), (x3, y3) = points[index : index + 3]
        if x1 == x2 == x3 == x:
            parts.append(f"V{number(y3)}")
        else:
            parts.append(f"C{number(x1)} {number(y1)} {number(x2)} {number(y2)} {number(x3)} {number(y3)}")
        x = x3
    return "".join(parts)

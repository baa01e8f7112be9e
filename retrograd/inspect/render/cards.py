"""The cards of a drawing: which lines they show, how large they are, what colour they have."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from retrograd.errors import UsageError
from retrograd.inspect.layout import Size
from retrograd.inspect.layout.text_size import shortened, text_width
from retrograd.inspect.snapshot import GraphSnapshot

from . import labels
from .theme import HEATS, KINDS

TITLE_SIZE = 13.0
TEXT_SIZE = 11.0
LABEL_SIZE = 9.5
PAD = 12.0
_ROOM = 300.0
_WIDEST = 900.0
_NARROWEST = 84.0


@dataclass(frozen=True, slots=True)
class Picture:
    """One card to be drawn: a bold title with a muted ending, and lines below (muted or not)."""

    title: str
    ending: str
    lines: tuple[tuple[str, bool], ...]
    css: str
    """Classes of its group."""
    size: Size


@dataclass(slots=True)
class Scale:
    """How ``color_by`` turns values into the steps of the colour scale."""

    name: str = ""
    values: list[float | None] = field(default_factory=list)
    low: float = 0.0
    high: float = 0.0
    logarithmic: bool = False

    def css(self, node: int) -> str:
        """Return the colour class of a node: ``heat3``, ``odd`` for NaN and infinity, ``""`` when unknown."""
        value = self.values[node] if self.values else None
        if value is None:
            return ""
        if not math.isfinite(value):
            return "odd"
        low, high, here = (self._bent(number) for number in (self.low, self.high, value))
        share = (here - low) / (high - low) if high > low else 0.0
        return f"heat{min(int(share * HEATS), HEATS - 1)}"

    def bounds(self) -> list[float]:
        """Return the least value of every step."""
        low, high = self._bent(self.low), self._bent(self.high)
        steps = [low + (high - low) * step / HEATS for step in range(HEATS)]
        return [math.exp(step) - 1 if self.logarithmic else step for step in steps]

    def _bent(self, value: float) -> float:
        return math.log1p(value) if self.logarithmic else value


def scale(snapshot: GraphSnapshot, color_by: str | None) -> Scale:
    """Return the colour scale for a numeric column; raises ``UsageError`` for one that the graph does not have."""
    if color_by is None:
        return Scale()
    columns: dict[str, list[float | None]] = {"saved_bytes": list(snapshot.saved_bytes), **snapshot.measures}
    if color_by not in columns:
        raise UsageError(
            f"The graph has no measure {color_by!r} to colour by.", f"It has: {', '.join(sorted(columns))}."
        )
    values = columns[color_by]
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return Scale(color_by, values, low, high, logarithmic=low >= 0 and high > 100)


def pictures(snapshot: GraphSnapshot, colours: Scale, label_widths: list[float]) -> list[Picture]:
    """Return the cards of all nodes, each wide enough for its text and for the labels of the edges it sends."""
    below = [0.0] * len(snapshot)
    for source, width in zip(snapshot.edge_source, label_widths, strict=True):
        below[source] += 0.8 * width + 8
    roots = {node: labels.clean(name or "") for node, name in zip(snapshot.roots, snapshot.root_names, strict=False)}
    return [_picture(snapshot, node, colours.css(node), below[node], roots) for node in range(len(snapshot))]


def _picture(snapshot: GraphSnapshot, node: int, heat: str, below: float, roots: dict[int, str]) -> Picture:
    """Return the card of one node."""
    card = labels.card(snapshot, node)
    title = shortened(card.title, TITLE_SIZE, _ROOM, bold=True)
    ending = shortened(card.op[len(card.title) :], TEXT_SIZE, _ROOM) if card.op.startswith(card.title) else ""
    lines = _lines(card, roots.get(node, ""))
    widths = [text_width(title, TITLE_SIZE, bold=True) + text_width(ending, TEXT_SIZE)]
    widths += [text_width(line, TEXT_SIZE) for line, _ in lines]
    width = min(max(*widths, below, _NARROWEST), _WIDEST) + 2 * PAD
    height = 30.0 + 15.0 * len(lines) + (2.0 if lines else 0.0)
    kind = snapshot.kind[node] if snapshot.kind[node] in KINDS else "op"
    css = " ".join(part for part in ("node", "root" if node in roots else kind, heat) if part)
    return Picture(title, ending, lines, css, Size(math.ceil(width), height))


def _lines(card: labels.Card, root_name: str) -> tuple[tuple[str, bool], ...]:
    """Return the lines below a card's title and whether they are muted."""
    named_by_title = card.title == card.name
    name = root_name or ("" if named_by_title else card.name)
    tensor = ": ".join(part for part in (name, card.tensor) if part)
    # A parameter's full name usually ends its module path; saying both would only make the card wide.
    scope = "" if named_by_title and card.scope.replace("/", ".") in card.name else card.scope
    op = card.op if named_by_title else ""
    lines = [(tensor, False), (op, True), (scope, True), (card.source, True)]
    return tuple((shortened(text, TEXT_SIZE, _ROOM), muted) for text, muted in lines if text)

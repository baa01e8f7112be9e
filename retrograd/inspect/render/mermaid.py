"""Mermaid flowchart text, for Markdown pages; capped, since viewers refuse more than 500 edges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrograd.inspect.events import Recording
from retrograd.inspect.snapshot import GraphSnapshot

from .base import RenderOptions, capped, chosen_snapshots
from .labels import card, clean, edge_text, headline
from .scale import scale
from .theme import KINDS, LIGHT

MAX_EDGES = 500
"""Mermaid's default limit of edges."""
MAX_CHARACTERS = 50_000
"""Mermaid's default limit of text length."""
_LONGEST = 80
_SPECIAL = re.compile(r"[^\w .,/()×·…-]|_{2,}")
_STYLES = {
    **{kind: f"fill:{LIGHT[f'{kind}-card']},stroke:{LIGHT[kind]},color:{LIGHT['ink']}" for kind in KINDS},
    **{f"heat{step}": f"fill:{fill},color:{LIGHT['ink']}" for step, fill in enumerate(LIGHT["heat"].split())},
    "odd": f"stroke:{LIGHT['odd']},stroke-width:3px",
}


class MermaidRenderer:
    """Writes the chosen graphs as one flowchart, each in a subgraph of its own when there are several."""

    name = "mermaid"
    suffixes = (".mmd", ".mermaid")
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the chosen snapshots as Mermaid text within the limits of its viewers."""
        snapshots = chosen_snapshots(recording, options)
        room = MAX_EDGES
        text = _flowchart(snapshots, options, room)
        while len(text) > MAX_CHARACTERS and room > 1:
            room = min(room - 1, room * MAX_CHARACTERS // len(text))
            text = _flowchart(snapshots, options, room)
        return text


RENDERER = MermaidRenderer()


def _flowchart(snapshots: list[GraphSnapshot], options: RenderOptions, room: int) -> str:
    """Return the flowchart with at most ``room`` edges; graphs that get none of them are only counted."""
    lines = ["flowchart TD\n"]
    shown = snapshots[:room]
    for step, snapshot in enumerate(shown):
        prefix = "n" if len(snapshots) == 1 else f"s{step}_n"
        body = _graph_lines(snapshot, prefix, options, room // len(shown))
        if len(snapshots) == 1:
            lines += [f"  %% {_escape(headline(snapshot, options.title))}\n", *body]
        else:
            lines += [f'  subgraph s{step}["{_escape(headline(snapshot, options.title))}"]\n', *body, "  end\n"]
    if len(shown) < len(snapshots):
        lines.append(f'  graphs["… {len(snapshots) - len(shown):,} more graphs not drawn"]\n')
    text = "".join(lines)
    styles = (f"  classDef {name} {style}\n" for name, style in _STYLES.items() if f":::{name}\n" in text)
    return text + "".join(styles)


def _graph_lines(snapshot: GraphSnapshot, prefix: str, options: RenderOptions, room: int) -> Iterator[str]:
    """Yield the statements of one graph: its first nodes, as many as leave at most ``room`` edges."""
    keep = _nodes_within(snapshot, room)
    if options.max_nodes is not None:
        keep = min(keep, options.max_nodes)
    part, hidden = capped(snapshot, keep)
    styles = _styles(part, options)
    for node in range(len(part)):
        text = "<br/>".join(_escape(line) for line in card(part, node).lines())
        shape = f'(["{text}"])' if part.kind[node] == "leaf" else f'["{text}"]'
        yield f"  {prefix}{node}{shape}{styles[node]}\n"
    for edge, (source, target, _, _) in enumerate(part.edges()):
        text = _escape(edge_text(part, edge))
        label = f'|"{text}"|' if text else ""
        yield f"  {prefix}{source} -->{label} {prefix}{target}\n"
    if hidden:
        yield f'  {prefix}_more["… {hidden:,} more nodes not drawn"]\n'


def _styles(snapshot: GraphSnapshot, options: RenderOptions) -> list[str]:
    """Return the class of each node, by its kind or by the measure that was asked for."""
    if options.color_by is not None:
        colours = scale(snapshot, options.color_by)
        names = [colours.css(node) for node in range(len(snapshot))]
    else:
        names = [kind if kind in KINDS else "" for kind in snapshot.kind]
        for root in snapshot.roots:
            names[root] = "root"
    return [f":::{name}" if name else "" for name in names]


def _nodes_within(snapshot: GraphSnapshot, room: int) -> int:
    """Return how many nodes, in walk order, have at most ``room`` edges among them (and number at most room + 1)."""
    limit = min(len(snapshot), room + 1)
    closing = [0] * limit
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        last = max(source, target)
        if last < limit:
            closing[last] += 1
    edges = 0
    for node, new in enumerate(closing):
        edges += new
        if edges > room:
            return max(node, 1)
    return limit


def _escape(text: str) -> str:
    """Return text for a quoted Mermaid label: whatever could have a meaning becomes a character code."""
    text = clean(text)
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return _SPECIAL.sub(lambda found: "".join(f"#{ord(char)};" for char in found[0]), short)

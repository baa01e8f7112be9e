"""Mermaid flowchart text, for Markdown pages; capped, since viewers refuse more than 500 edges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrograd.inspect.events import Recording
from retrograd.inspect.snapshot import GraphSnapshot

from .base import RenderOptions, capped, chosen_snapshots
from .labels import card, clean, edge_text, headline

MAX_EDGES = 500
"""Mermaid's default limit of edges."""
MAX_CHARACTERS = 50_000
"""Mermaid's default limit of text length."""
_LONGEST = 80
_SPECIAL = re.compile(r"[^\w .,/()×·…-]|_{2,}")
_STYLES = "  classDef leaf fill:#dbeafe,stroke:#1e3a8a,color:#111\n"


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
    lines = ["flowchart TD\n", _STYLES]
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
    return "".join(lines)


def _graph_lines(snapshot: GraphSnapshot, prefix: str, options: RenderOptions, room: int) -> Iterator[str]:
    """Yield the statements of one graph: its first nodes, as many as leave at most ``room`` edges."""
    keep = _nodes_within(snapshot, room)
    if options.max_nodes is not None:
        keep = min(keep, options.max_nodes)
    part, hidden = capped(snapshot, keep)
    for node in range(len(part)):
        text = "<br/>".join(_escape(line) for line in card(part, node).lines())
        shape = f'(["{text}"]):::leaf' if part.kind[node] == "leaf" else f'["{text}"]'
        yield f"  {prefix}{node}{shape}\n"
    for edge, (source, target, _, _) in enumerate(part.edges()):
        text = _escape(edge_text(part, edge))
        label = f'|"{text}"|' if text else ""
        yield f"  {prefix}{source} -->{label} {prefix}{target}\n"
    if hidden:
        yield f'  {prefix}_more["… {hidden:,} more nodes not drawn"]\n'


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

"""Mermaid flowchart text, for Markdown pages; capped, since viewers refuse more than 500 edges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...graphs.graph import Graph
from ...recording.events import Recording
from ..base import RenderOptions, chosen_steps
from ..card_words import plain_words
from ..labels import clean, headline, node_text
from ..marks import GHOST
from ..scale import scale
from ..scene import Scene, outline, scene
from ..theme import KINDS, LIGHT

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
        if options.fold == ():  # of a graph too large for any viewer, no more is worked on than could be shown
            most = min(options.max_nodes or MAX_EDGES + 1, MAX_EDGES + 1)
            options = replace(options, max_nodes=most)
        scenes = [scene(recording.graphs[step], options, step, most=None) for step in chosen_steps(recording, options)]
        room = MAX_EDGES
        text = _flowchart(scenes, options, room)
        while len(text) > MAX_CHARACTERS and room > 1:
            room = min(room - 1, room * MAX_CHARACTERS // len(text))
            text = _flowchart(scenes, options, room)
        return text


RENDERER = MermaidRenderer()


def _flowchart(scenes: list[Scene], options: RenderOptions, room: int) -> str:
    """Return the flowchart with at most ``room`` edges; graphs that get none of them are only counted."""
    lines = ["flowchart TD\n"]
    shown = scenes[:room]
    for step, made in enumerate(shown):
        prefix = "" if len(scenes) == 1 else f"s{step}_"
        body = _graph_lines(made, prefix, options, room // len(shown))
        title = _escape(headline(made.whole, options.title))
        if len(scenes) == 1:
            lines += [f"  %% {title}\n", *body]
        else:
            lines += [f'  subgraph s{step}["{title}"]\n', *body, "  end\n"]
    if len(shown) < len(scenes):
        lines.append(f'  graphs["… {len(scenes) - len(shown):,} more graphs not drawn"]\n')
    text = "".join(lines)
    styles = (f"  classDef {name} {style}\n" for name, style in _STYLES.items() if f":::{name}\n" in text)
    return text + "".join(styles)


def _graph_lines(made: Scene, prefix: str, options: RenderOptions, room: int) -> Iterator[str]:
    """Yield the statements of one graph: its first boxes, as many as leave at most ``room`` edges."""
    keep = _nodes_within(made.seen, room)
    ids = [prefix + name.replace("-", "_") for name in made.ids]
    yield from _box_lines(made, prefix, options, ids, keep)
    yield from _edge_lines(made, ids, keep)
    hidden = len(made.whole) - made.nodes_within(keep)
    if hidden > 0:
        yield f'  {prefix}n_more["… {hidden:,} more nodes not drawn"]\n'


def _box_lines(made: Scene, prefix: str, options: RenderOptions, ids: list[str], keep: int) -> Iterator[str]:
    """Yield the first ``keep`` boxes, within the open scopes around them."""
    kind, styles = made.seen.kind, _styles(made, options)
    for what, number in outline(made.view, range(keep)):
        if what == "open":
            frame = made.view.frames[number]
            times = f" × {frame.repeats}" if frame.repeats > 1 else ""
            title = _escape(made.view.folded.scopes[frame.scope].label + times) or " "
            yield f'  subgraph {prefix}f{frame.scope}["{title}"]\n'
        elif what == "close":
            yield "  end\n"
        else:
            text = "<br/>".join(_escape(line) for line in _lines(made, number) if line)
            shape = f'(["{text}"])' if kind[number] == "leaf" else f'["{text}"]'
            yield f"  {ids[number]}{shape}{styles[number]}\n"


def _edge_lines(made: Scene, ids: list[str], keep: int) -> Iterator[str]:
    """Yield the edges between the first ``keep`` boxes; what was cut is dashed."""
    seen = made.seen
    for edge, (source, target, _, _) in enumerate(seen.edges()):
        if source < keep and target < keep:
            text = _escape(made.edge_labels[edge])
            label = f'|"{text}"|' if text else ""
            arrow = "-.->" if seen.kind[target] == GHOST else "-->"
            yield f"  {ids[source]} {arrow}{label} {ids[target]}\n"


def _lines(made: Scene, box: int) -> list[str]:
    """Return the lines of one box."""
    return node_text(made.seen, box).lines() if made.plain else plain_words(made, box)


def _styles(made: Scene, options: RenderOptions) -> list[str]:
    """Return the class of each box, by its kind, what a comparison says, or the measure that was asked for."""
    snapshot = made.seen
    if options.color_by is not None:
        colours = scale(snapshot, options.color_by)
        names = [colours.css(node) for node in range(len(snapshot))]
    else:
        names = [kind if kind in KINDS else "" for kind in snapshot.kind]
        for root in snapshot.roots:
            names[root] = "root"
        names = [made.status(box) or name for box, name in enumerate(names)]
    return [f":::{name}" if name else "" for name in names]


def _nodes_within(snapshot: Graph, room: int) -> int:
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

"""Graphviz DOT text, quoted by the ``graphviz`` package; made without its binary.

One graph becomes one digraph with the nodes ``n0``, ``n1``, …; several become clusters of one digraph, with the
nodes ``s0_n0``, ….  An edge points the way the gradient flows, from the loss to the leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from retrograd.inspect.events import Recording
from retrograd.inspect.snapshot import GraphSnapshot

from .base import RenderOptions, capped, chosen_snapshots
from .cards import scale
from .labels import clean, edge_text, headline, source_text, tensor_text
from .theme import LIGHT

_LONGEST = 120
"""Characters of one line of a label; older Graphviz cannot read very long strings."""
_HARMLESS = re.compile(r"[\w .,:/()×·-]*").fullmatch
"""Matches texts without control characters in which nothing has a meaning for Graphviz."""
_LOOKS = {
    kind: f' fillcolor="{LIGHT[f"{kind}-card"]}" color="{LIGHT[kind]}"' for kind in ("leaf", "function", "copy", "root")
}
_HEATS = {f"heat{step}": f' fillcolor="{colour}"' for step, colour in enumerate(LIGHT["heat"].split())}
_HEATS["odd"] = f' color="{LIGHT["odd"]}" penwidth=3'


class DotRenderer:
    """Writes the chosen graphs as one DOT digraph."""

    name = "dot"
    suffixes = (".dot", ".gv")
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the chosen snapshots as DOT text."""
        import graphviz

        snapshots = chosen_snapshots(recording, options)
        graph = graphviz.Digraph(graph_attr={"rankdir": "TB"}, node_attr=_NODE_STYLE, edge_attr=_EDGE_STYLE)
        if len(snapshots) == 1:
            graph.graph_attr["label"] = _label(_captions(snapshots[0], options))
            graph.body.extend(digraph_lines(snapshots[0], options))
            return str(graph.source)
        for step, snapshot in enumerate(snapshots):
            with graph.subgraph(name=f"cluster_{step}") as cluster:
                cluster.attr(label=_label(_captions(snapshot, options)))
                cluster.body.extend(digraph_lines(snapshot, options, f"s{step}_n"))
        return str(graph.source)


RENDERER = DotRenderer()
_NODE_STYLE = {"shape": "box", "style": "rounded,filled", "fillcolor": "white", "fontname": "Helvetica"}
_EDGE_STYLE = {"fontname": "Helvetica", "fontsize": "10"}


def digraph_lines(snapshot: GraphSnapshot, options: RenderOptions, prefix: str = "n") -> Iterator[str]:
    """Yield the DOT statements for the nodes and edges of ``snapshot``, without the braces around them."""
    shown, _ = capped(snapshot, options.max_nodes)
    yield from _node_lines(shown, options, prefix)
    yield from _edge_lines(shown, prefix)


def _node_lines(snapshot: GraphSnapshot, options: RenderOptions, prefix: str) -> Iterator[str]:
    """Yield a statement for each node; equal cards, and equal words on different cards, are worked out once."""
    made: dict[tuple[object, ...], str] = {}
    words = _Words()
    looks = _looks(snapshot, options)
    columns = (snapshot.op, snapshot.name, snapshot.scope, snapshot.shape, snapshot.dtype, snapshot.source, looks)
    for node, key in enumerate(zip(*columns, strict=True)):
        attributes = made.get(key)
        if attributes is None:
            op, name, scope, shape, dtype, source, look = key
            texts = (op, name, scope, tensor_text(shape, dtype), source_text(source))
            label = "\\n".join(filter(None, map(words.__getitem__, texts)))
            made[key] = attributes = f'label="{label}"{look}'
        yield f"\t{prefix}{node} [{attributes}]\n"


def _looks(snapshot: GraphSnapshot, options: RenderOptions) -> list[str]:
    """Return every node's colour attributes: by its kind, or by the measure that was asked for."""
    if options.color_by is not None:
        colours = scale(snapshot, options.color_by)
        return [_HEATS.get(colours.css(node), "") for node in range(len(snapshot))]
    looks = [_LOOKS.get(kind, "") for kind in snapshot.kind]
    for root in snapshot.roots:
        looks[root] = _LOOKS["root"]
    return looks


def _edge_lines(snapshot: GraphSnapshot, prefix: str) -> Iterator[str]:
    """Yield a statement for each edge; equal labels are worked out once."""
    made: dict[object, str] = {}
    shapes = snapshot.shape
    columns = (snapshot.edge_source, snapshot.edge_target, snapshot.edge_output_nr)
    for edge, (source, target, output_nr) in enumerate(zip(*columns, strict=True)):
        key = output_nr or shapes[target]
        attributes = made.get(key)
        if attributes is None:
            text = edge_text(snapshot, edge)
            made[key] = attributes = f' [label="{_line(text)}"]' if text else ""
        yield f"\t{prefix}{source} -> {prefix}{target}{attributes}\n"


class _Words(dict[str | None, str]):
    """Text -> the text as it stands between the quotes of a label; ``""`` for None."""

    def __missing__(self, text: str | None) -> str:
        self[text] = line = _line(text or "")
        return line


def _captions(snapshot: GraphSnapshot, options: RenderOptions) -> list[str]:
    """Return the lines under a drawing: its headline, what the colours mean, what it leaves out."""
    lines = [headline(snapshot, options.title)]
    if options.color_by is not None:
        colours = scale(snapshot, options.color_by)
        lines.append(f"colour: {colours.name}, from {colours.low:.3g} (pale) to {colours.high:.3g} (deep)")
    if options.max_nodes is not None and len(snapshot) > options.max_nodes:
        lines.append(f"{len(snapshot) - options.max_nodes:,} more nodes are not drawn")
    return lines


def _label(lines: Iterable[str]) -> str:
    """Return lines of text as a label that is still to be quoted."""
    import graphviz

    label: str = graphviz.nohtml("\\n".join(_escaped(clean(line)) for line in lines))
    return label


def _line(text: str) -> str:
    """Return one line of text as it stands between the quotes of a label."""
    if _HARMLESS(text) and len(text) <= _LONGEST:
        return text.strip()
    from graphviz.quoting import quote

    return str(quote(_escaped(clean(text)) + " "))[1:-2]  # the blank makes sure that it is quoted at all


def _escaped(text: str) -> str:
    """Return a line with all that has a meaning in labels escaped, cut to the longest line allowed."""
    import graphviz

    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    # An ampersand would begin an HTML entity, which Graphviz decodes in every label.
    escaped: str = graphviz.escape(short.replace("&", "&amp;"))
    return escaped

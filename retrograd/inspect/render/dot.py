"""Graphviz DOT text, quoted by the ``graphviz`` package; made without its binary.

One graph becomes one digraph with the nodes ``n0``, ``n1``, …; several become clusters of one digraph, with the
nodes ``s0_n0``, ….  An edge points the way the gradient flows, from the loss to the leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retrograd.inspect.events import Recording
from retrograd.inspect.snapshot import GraphSnapshot

from .base import RenderOptions, capped, chosen_snapshots
from .labels import card, clean, edge_text, headline

_LONGEST = 120
"""Characters of one line of a label; older Graphviz cannot read very long strings."""
_LOOKS = {
    "leaf": ' fillcolor="#dbeafe"',
    "function": ' fillcolor="#fef3c7"',
    "copy": ' fillcolor="#ede9fe"',
}


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
            shown, hidden = capped(snapshots[0], options.max_nodes)
            graph.graph_attr["label"] = _label(_captions(snapshots[0], hidden, options))
            graph.body.extend(digraph_lines(shown))
            return str(graph.source)
        for step, snapshot in enumerate(snapshots):
            shown, hidden = capped(snapshot, options.max_nodes)
            with graph.subgraph(name=f"cluster_{step}") as cluster:
                cluster.attr(label=_label(_captions(snapshot, hidden, options)))
                cluster.body.extend(digraph_lines(shown, f"s{step}_n"))
        return str(graph.source)


RENDERER = DotRenderer()
_NODE_STYLE = {"shape": "box", "style": "rounded,filled", "fillcolor": "white", "fontname": "Helvetica"}
_EDGE_STYLE = {"fontname": "Helvetica", "fontsize": "10"}


def digraph_lines(snapshot: GraphSnapshot, prefix: str = "n") -> Iterator[str]:
    """Yield the DOT statements for all nodes and edges of ``snapshot``, without the braces around them."""
    yield from _node_lines(snapshot, prefix)
    yield from _edge_lines(snapshot, prefix)


def _node_lines(snapshot: GraphSnapshot, prefix: str) -> Iterator[str]:
    """Yield a statement for each node; equal cards are worked out once."""
    from graphviz.quoting import quote

    made: dict[tuple[object, ...], str] = {}
    columns = (snapshot.op, snapshot.kind, snapshot.name, snapshot.scope, snapshot.shape, snapshot.dtype)
    for node, key in enumerate(zip(*columns, snapshot.source, strict=True)):
        attributes = made.get(key)
        if attributes is None:
            label = quote(_label(card(snapshot, node).lines()))
            made[key] = attributes = f"label={label}{_LOOKS.get(snapshot.kind[node], '')}"
        yield f"\t{prefix}{node} [{attributes}]\n"


def _edge_lines(snapshot: GraphSnapshot, prefix: str) -> Iterator[str]:
    """Yield a statement for each edge; equal labels are worked out once."""
    from graphviz.quoting import quote

    made: dict[object, str] = {}
    shapes = snapshot.shape
    for edge, (source, target, _, output_nr) in enumerate(snapshot.edges()):
        key = output_nr or shapes[target]
        attributes = made.get(key)
        if attributes is None:
            text = edge_text(snapshot, edge)
            made[key] = attributes = f" [label={quote(_label([text]))}]" if text else ""
        yield f"\t{prefix}{source} -> {prefix}{target}{attributes}\n"


def _captions(snapshot: GraphSnapshot, hidden: int, options: RenderOptions) -> list[str]:
    """Return the lines under a drawing: its headline and what it leaves out."""
    lines = [headline(snapshot, options.title)]
    if hidden:
        lines.append(f"{hidden:,} more nodes are not drawn")
    return lines


def _label(lines: Iterable[str]) -> str:
    """Return lines of text as one DOT label that shows exactly them."""
    import graphviz

    # An ampersand would begin an HTML entity, which Graphviz decodes in every label.  ``nohtml`` keeps a label
    # such as <lambda> from being read as HTML.
    texts = (_short(clean(line)).replace("&", "&amp;") for line in lines)
    label: str = graphviz.nohtml("\\n".join(graphviz.escape(text) for text in texts))
    return label


def _short(text: str) -> str:
    """Return ``text`` cut to the longest line allowed."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

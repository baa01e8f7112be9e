"""Graphviz DOT text, quoted by the ``graphviz`` package; made without its binary.

One graph becomes one digraph with the nodes ``n0``, ``n1``, …; several become clusters of one digraph, with the
nodes ``s0_n0``, ….  An edge points the way the gradient flows, from the loss to the leaves.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from ...graphs.graph import Graph
from ...progress import followed
from ...recording.events import Recording
from ..base import RenderOptions, capped, chosen_steps
from ..card_words import plain_words
from ..labels import clean, edge_text, headline, source_text, tensor_text
from ..marks import GHOST
from ..scale import scale
from ..scene import Scene, outline, scene
from ..theme import KINDS, LIGHT

_LONGEST = 120
"""Characters of one line of a label; older Graphviz cannot read very long strings."""
_HARMLESS = re.compile(r"[\w .,:/()×·-]*").fullmatch
"""Matches texts without control characters in which nothing has a meaning for Graphviz."""
_BREAK = "\\n"
"""Joins the lines of a label, which Graphviz centres."""
_LOOKS = {kind: f' fillcolor="{LIGHT[f"{kind}-card"]}" color="{LIGHT[kind]}"' for kind in KINDS}
_EDGE_LOOKS = {
    "": "",
    "added": f' color="{LIGHT["added"]}" penwidth=2',
    "removed": f' color="{LIGHT["removed"]}" penwidth=2 style="dashed"',
}
"""Edges that only one side of a comparison has."""
_HEATS = {f"heat{step}": f' fillcolor="{colour}"' for step, colour in enumerate(LIGHT["heat"].split())}
_HEATS["odd"] = f' color="{LIGHT["odd"]}" penwidth=3'


class DotRenderer:
    """Writes the chosen graphs as one DOT digraph."""

    name = "dot"
    suffixes = (".dot", ".gv")
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the chosen snapshots as DOT text."""
        steps = chosen_steps(recording, options)
        head, tail = _frame()
        if len(steps) == 1:
            return "".join([head, *_statements(recording.graphs[steps[0]], options, steps[0], ""), tail])
        parts = [head]
        for place, step in enumerate(steps):
            body = _statements(recording.graphs[step], options, step, f"s{place}_")
            parts += [f"\tsubgraph cluster_{place} {{\n", *body, "\t}\n"]
        return "".join([*parts, tail])


RENDERER = DotRenderer()
_NODE_STYLE = {"shape": "box", "style": "rounded,filled", "fillcolor": "white", "fontname": "Helvetica"}
_EDGE_STYLE = {"fontname": "Helvetica", "fontsize": "10"}


@functools.cache
def _frame() -> tuple[str, str]:
    """Return the text before and after the statements of a digraph."""
    import graphviz

    graph = graphviz.Digraph(graph_attr={"rankdir": "TB"}, node_attr=_NODE_STYLE, edge_attr=_EDGE_STYLE)
    head, brace, end = graph.source.rpartition("}")
    return head, brace + end


def _statements(snapshot: Graph, options: RenderOptions, step: int, prefix: str) -> Iterator[str]:
    """Yield the DOT statements of one graph, the braces around them excepted."""
    yield f'\tlabel="{_BREAK.join(map(_line, _captions(snapshot, options)))}"\n'
    if options.fold == () and not options.findings and options.differences is None:
        shown, _ = capped(snapshot, options.max_nodes)
        yield from _node_lines(shown, options, f"{prefix}n")
        yield from _edge_lines(shown, f"{prefix}n")
    else:
        made = scene(snapshot, options, step, most=None)
        yield from _box_lines(made, options, prefix)
        yield from _joining_lines(made, prefix)


def _box_lines(scene: Scene, options: RenderOptions, prefix: str) -> Iterator[str]:
    """Yield a statement for each box, in clusters for the open scopes."""
    looks = _looks(scene.seen, options, [scene.status(box) for box in range(len(scene.seen))])
    for what, number in outline(scene.view, range(len(scene.view.boxes))):
        if what == "open":
            frame = scene.view.frames[number]
            times = f" × {frame.repeats}" if frame.repeats > 1 else ""
            title = _line(scene.view.folded.scopes[frame.scope].label + times)
            yield f'\tsubgraph cluster_{prefix}f{frame.scope} {{\n\tlabel="{title}" style="rounded"\n'
        elif what == "close":
            yield "\t}\n"
        else:
            words = [_line(words) for words in plain_words(scene, number)]
            label = _BREAK.join(word for word in words if word)
            yield f'\t{prefix}{_id(scene, number)} [label="{label}"{looks[number]}]\n'


def _joining_lines(scene: Scene, prefix: str) -> Iterator[str]:
    """Yield a statement for each edge between boxes."""
    seen = scene.seen
    for edge, (source, target) in enumerate(zip(seen.edge_source, seen.edge_target, strict=True)):
        text = _line(scene.edge_labels[edge])
        look = ' style="dashed"' if seen.kind[target] == GHOST else _EDGE_LOOKS[scene.edge_status(edge)]
        attributes = f' [label="{text}"{look}]' if text or look else ""
        yield f"\t{prefix}{_id(scene, source)} -> {prefix}{_id(scene, target)}{attributes}\n"


def _id(scene: Scene, box: int) -> str:
    """Return a box's name in letters that need no quotes."""
    return scene.ids[box].replace("-", "_")


def _node_lines(snapshot: Graph, options: RenderOptions, prefix: str) -> Iterator[str]:
    """Yield a statement for each node; equal cards are worked out once."""
    made: dict[tuple[object, ...], str] = {}
    looks = _looks(snapshot, options)
    columns = (snapshot.op, snapshot.name, snapshot.scope, snapshot.shape, snapshot.dtype, snapshot.source, looks)
    for node, key in followed(enumerate(zip(*columns, strict=True))):
        attributes = made.get(key)
        if attributes is None:
            op, name, scope, shape, dtype, source, look = key
            lines = (_line(op), _line(name or ""), _line(scope), _tensor(shape, dtype), _line(source_text(source)))
            made[key] = attributes = f'label="{_BREAK.join([line for line in lines if line])}"{look}'
        yield f"\t{prefix}{node} [{attributes}]\n"


def _looks(snapshot: Graph, options: RenderOptions, statuses: Sequence[str] = ()) -> list[str]:
    """Return every node's colour attributes: by kind, status in a comparison, or measure."""
    if options.color_by is not None:
        colours = scale(snapshot, options.color_by)
        return [_HEATS.get(colours.css(node), "") for node in range(len(snapshot))]
    looks = [_LOOKS.get(kind, "") for kind in snapshot.kind]
    for root in snapshot.roots:
        looks[root] = _LOOKS["root"]
    for node, status in enumerate(statuses):
        looks[node] = _LOOKS.get(status, looks[node])
    return looks


def _edge_lines(snapshot: Graph, prefix: str) -> Iterator[str]:
    """Yield a statement for each edge; equal labels are worked out once."""
    made: dict[object, str] = {}
    shapes = snapshot.shape
    columns = (snapshot.edge_source, snapshot.edge_target, snapshot.edge_output_nr)
    for edge, (source, target, output_nr) in followed(enumerate(zip(*columns, strict=True))):
        key = output_nr or shapes[target]
        attributes = made.get(key)
        if attributes is None:
            text = edge_text(snapshot, edge)
            made[key] = attributes = f' [label="{_line(text)}"]' if text else ""
        yield f"\t{prefix}{source} -> {prefix}{target}{attributes}\n"


def _captions(snapshot: Graph, options: RenderOptions) -> list[str]:
    """Return the lines under a drawing: its headline, what the colours mean, what it leaves out."""
    lines = [headline(snapshot, options.title)]
    if options.color_by is not None:
        colours = scale(snapshot, options.color_by)
        lines.append(f"colour: {colours.name}, from {colours.low:.3g} (pale) to {colours.high:.3g} (deep)")
    if options.max_nodes is not None and len(snapshot) > options.max_nodes:
        lines.append(f"{len(snapshot) - options.max_nodes:,} more nodes are not drawn")
    return lines


@functools.lru_cache(maxsize=4096)
def _tensor(shape: tuple[int, ...] | None, dtype: str | None) -> str:
    """Return the line that says shape and type."""
    return _line(tensor_text(shape, dtype))


@functools.lru_cache(maxsize=4096)
def _line(text: str) -> str:
    """Return one line of text escaped for the quotes of a label."""
    if _HARMLESS(text) and len(text) <= _LONGEST:
        return text.strip()
    import graphviz
    from graphviz.quoting import quote

    cleaned = clean(text)
    short = cleaned if len(cleaned) <= _LONGEST else cleaned[: _LONGEST - 1] + "…"
    # An ampersand would begin an HTML entity, which Graphviz decodes in every label.
    escaped = graphviz.escape(short.replace("&", "&amp;"))
    return str(quote(escaped + " "))[1:-2]  # the blank makes sure that it is quoted at all

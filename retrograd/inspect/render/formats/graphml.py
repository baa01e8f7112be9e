"""GraphML, which Gephi, yEd, Cytoscape and networkx read: one directed multigraph for each backward graph.

GraphML has scalars only, so a shape is text (``32×64``) and a source line is ``file:line``; what is unknown is left
out.  Numbers stay numbers, NaN and infinities included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count

from ...graphs.graph import Graph
from ...progress import followed
from ...recording.events import Recording
from ..base import RenderOptions, capped, chosen_snapshots
from ..labels import headline, shape_text

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 cannot hold."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_ESCAPES = str.maketrans(_ENTITIES)
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns '
    'http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
)
_NODE_TEXTS = ("op", "kind", "name", "scope", "shape", "dtype", "source")
_NODE_NUMBERS = ("saved_bytes", "seq")
_EDGE_NUMBERS = ("input_nr", "output_nr")
_GRAPH_TEXTS = ("label", "engine", "title")


class GraphmlRenderer:
    """Writes the chosen graphs as one GraphML file."""

    name = "graphml"
    suffixes = (".graphml",)
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the chosen snapshots as GraphML."""
        snapshots = [capped(snapshot, options.max_nodes)[0] for snapshot in chosen_snapshots(recording, options)]
        keys = _Keys(sorted({name for snapshot in snapshots for name in snapshot.measures}))
        parts = [_HEAD, *keys.lines()]
        for number, snapshot in enumerate(snapshots):
            parts += _graph(snapshot, keys, number, options.title)
        return "".join([*parts, "</graphml>\n"])


RENDERER = GraphmlRenderer()


class _Keys:
    """The declared attributes and their short names in the file; a measure may be called like a column."""

    def __init__(self, measures: list[str]) -> None:
        numbers = count()
        self.graph, self.node, self.measure, self.edge = (
            {name: f"d{next(numbers)}" for name in names}
            for names in (_GRAPH_TEXTS, (*_NODE_TEXTS, "root", *_NODE_NUMBERS), measures, _EDGE_NUMBERS)
        )

    def lines(self) -> Iterator[str]:
        """Yield the declarations."""
        yield from (_key(key, "graph", name, "string") for name, key in self.graph.items())
        for name, key in self.node.items():
            yield _key(key, "node", name, "long" if name in _NODE_NUMBERS else "string")
        for name, key in self.measure.items():
            shown = f"measure {name}" if name in self.node else name
            yield _key(key, "node", shown, "double")
        yield from (_key(key, "edge", name, "long") for name, key in self.edge.items())


def _key(key: str, domain: str, name: str, kind: str) -> str:
    return f' <key id="{key}" for="{domain}" attr.name="{_text(name)}" attr.type="{kind}"/>\n'


def _graph(snapshot: Graph, keys: _Keys, number: int, title: str) -> Iterator[str]:
    """Yield the element of one graph."""
    yield f' <graph id="g{number}" edgedefault="directed">\n'
    texts = (snapshot.label, snapshot.engine, headline(snapshot, title))
    yield from _data(keys.graph.values(), texts)
    names = dict(zip(snapshot.roots, snapshot.root_names, strict=False))
    for node in followed(range(len(snapshot))):
        yield f'  <node id="n{node}">\n'
        yield from _data(keys.node.values(), _node_values(snapshot, node, names))
        yield from _data(keys.measure.values(), (snapshot.measures.get(name, _Nothing)[node] for name in keys.measure))
        yield "  </node>\n"
    ids = list(keys.edge.values())
    for edge, (source, target, input_nr, output_nr) in followed(enumerate(snapshot.edges())):
        yield f'  <edge id="e{edge}" source="n{source}" target="n{target}">\n'
        yield from _data(ids, (input_nr, output_nr))
        yield "  </edge>\n"
    yield " </graph>\n"


class _Unknown:
    """A column that says nothing about any node."""

    def __getitem__(self, node: int) -> None:
        return None


_Nothing = _Unknown()


def _node_values(snapshot: Graph, node: int, roots: dict[int, str | None]) -> Iterator[object]:
    """Yield the values of one node in the order of the keys."""
    source = snapshot.source[node]
    yield snapshot.op[node]
    yield snapshot.kind[node]
    yield snapshot.name[node]
    yield snapshot.scope[node] or None
    yield shape_text(snapshot.shape[node]) or None
    yield snapshot.dtype[node]
    yield None if source is None else f"{source.file}:{source.line}"
    yield (roots[node] or "") if node in roots else None
    yield snapshot.saved_bytes[node]
    yield snapshot.seq[node]


def _data(keys: Iterable[str], values: Iterable[object]) -> Iterator[str]:
    """Yield the known values as data elements."""
    for key, value in zip(keys, values, strict=True):
        if value is not None:
            yield f'   <data key="{key}">{_text(value if isinstance(value, str) else _number(value))}</data>\n'


def _number(value: object) -> str:
    """Return a number as XML Schema spells it."""
    return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(word := repr(value), word)


def _text(text: str) -> str:
    """Return text for XML; a character that XML cannot hold becomes its escape."""
    return _FORBIDDEN.sub(_named, text).translate(_ESCAPES)


def _named(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()

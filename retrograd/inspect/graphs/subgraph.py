"""``subgraph``: the part of a graph that consists of some of its nodes."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import EDGE_COLUMNS, NODE_COLUMNS, Graph


def subgraph(snapshot: Graph, nodes: Sequence[int]) -> Graph:
    """Return the graph of these nodes, in this order, and of all edges between them."""
    place = {node: number for number, node in enumerate(nodes)}
    ends = zip(snapshot.edge_source, snapshot.edge_target, strict=True)
    edges = [edge for edge, (source, target) in enumerate(ends) if source in place and target in place]
    found = Graph(engine=snapshot.engine, label=snapshot.label, first_seq=snapshot.first_seq)
    for columns, rows in ((NODE_COLUMNS, nodes), (EDGE_COLUMNS, edges)):
        for column in columns:
            values = getattr(snapshot, column)
            setattr(found, column, [values[row] for row in rows])
    found.edge_source = [place[node] for node in found.edge_source]
    found.edge_target = [place[node] for node in found.edge_target]
    found.measures = {name: [values[node] for node in nodes] for name, values in snapshot.measures.items()}
    named = zip(snapshot.roots, snapshot.root_names, strict=False)
    roots = [(place[root], name) for root, name in named if root in place]
    found.roots, found.root_names = [root for root, _ in roots], [name for _, name in roots]
    found.classes = snapshot.classes
    cuts = (cut for cut in snapshot.cuts if cut.node in place)
    found.cuts = [cut._replace(node=place[cut.node], origin=place.get(cut.origin, -1)) for cut in cuts]
    return found

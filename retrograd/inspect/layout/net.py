"""``Net``: the input of a layout: nodes, edges and, for part of a drawing, its ports to the outside."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..graphs.graph import Graph


@dataclass(slots=True)
class Net:
    """The nodes and edges of a graph, without its words; edge columns are named as in ``Graph``."""

    count: int
    edge_source: list[int]
    edge_target: list[int]
    edge_output_nr: list[int]
    """Edges into one output of a node may share their way."""
    roots: list[int] = field(default_factory=list)
    tops: int = 0
    """The last ``tops + bottoms`` nodes are ports: first those above all others,"""
    bottoms: int = 0
    """then those below all others."""
    anchors: dict[int, float] = field(default_factory=dict)
    """Nodes whose line runs elsewhere than through their middle: its distance from their left side."""
    leaves_at: dict[int, float] = field(default_factory=dict)
    """Edges whose start is fixed: its distance from the left side of their source."""
    enters_at: dict[int, float] = field(default_factory=dict)
    """Edges whose end is fixed: its distance from the left side of their target."""

    def __len__(self) -> int:
        return self.count

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self.edge_source)

    @property
    def first_top(self) -> int:
        """The first port at the top; all nodes before it are not ports."""
        return self.count - self.tops - self.bottoms

    @property
    def first_bottom(self) -> int:
        """The first port at the bottom."""
        return self.count - self.bottoms


def net_of(snapshot: Graph) -> Net:
    """Return a whole graph as a net."""
    return Net(len(snapshot), snapshot.edge_source, snapshot.edge_target, snapshot.edge_output_nr, snapshot.roots)

"""``GraphSnapshot``: an engine-free picture of one backward graph, held in columns.

A snapshot is made once by ``walk`` and then read by statistics, folding, layout, renderers and checks; none
of them sees a live graph.  Node ``i`` is row ``i`` of every node column and is called ``n{i}`` in every
output (walk order: breadth first from the roots), so that two runs give the same file.

Edges point the way gradients flow, from a node to its ``next_functions``: edge ``j`` leaves node
``edge_source[j]`` at position ``edge_input_nr[j]`` of its ``next_functions`` (the forward operand) and enters
node ``edge_target[j]`` at its input ``edge_output_nr[j]`` (the forward output).  Parallel edges are real
(``x * x``).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx as nx


class SourceLine(NamedTuple):
    """The user's line that made a node: file name as the program knew it, line (1-based), function name."""

    file: str
    line: int
    function: str


@dataclass(slots=True, weakref_slot=True)
class GraphSnapshot:
    """One backward graph in columns; all node columns have one entry per node."""

    engine: str = "retrograd"
    """``"retrograd"`` or ``"torch"``."""
    label: str = ""
    """What this graph is, for people: ``"backward 3"``, ``"walk"``."""
    # -- node columns
    op: list[str] = field(default_factory=list)
    """Node name as the engine spells it: ``MulBackward0``, ``AccumulateGrad``."""
    kind: list[str] = field(default_factory=list)
    """``"op"``, ``"leaf"`` (AccumulateGrad), ``"function"`` (a user's custom Function), ``"copy"`` (CopySlices)."""
    name: list[str | None] = field(default_factory=list)
    """Parameter name of a leaf, or variable name of an intermediate, when known."""
    scope: list[str] = field(default_factory=list)
    """Module path or scope in force when the node was made, parts divided by ``/``; ``""`` when unknown."""
    shape: list[tuple[int, ...] | None] = field(default_factory=list)
    """Shape of the node's first forward output (= its incoming gradient); of the tensor for a leaf."""
    dtype: list[str | None] = field(default_factory=list)
    """Its dtype without prefix: ``"float32"``."""
    source: list[SourceLine | None] = field(default_factory=list)
    saved_bytes: list[int | None] = field(default_factory=list)
    """Bytes of the values saved for backward, when known without unpacking them."""
    seq: list[int | None] = field(default_factory=list)
    """Sequence number; ``None`` for leaves."""
    # -- edge columns
    edge_source: list[int] = field(default_factory=list)
    edge_target: list[int] = field(default_factory=list)
    edge_input_nr: list[int] = field(default_factory=list)
    edge_output_nr: list[int] = field(default_factory=list)
    # -- the rest
    roots: list[int] = field(default_factory=list)
    """Nodes where backward starts."""
    root_names: list[str | None] = field(default_factory=list)
    """Variable name of each root (``"loss"``), when known."""
    measures: dict[str, list[float | None]] = field(default_factory=dict)
    """Optional numeric node columns such as ``time_us`` or ``grad_norm``."""

    def __len__(self) -> int:
        return len(self.op)

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self.edge_source)

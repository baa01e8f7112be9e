"""What ``detach_`` and ``.data`` do beneath derivatives: they cut the history of one level, not of those around it.

Here all levels share one graph.  A cut is a node in it that passes nothing on while its own level is differentiated,
and everything while another one is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..aliasing.views import gradient_edge
from ..nodes.node import GraphNode, edge_parts
from ..switches.state import peek_number


class CutPoint:
    """A level as cuts and leaves know it; it holds no tensor.

    ``is_open`` says that its function is running, ``pushes_forward`` that its derivative is the tangents themselves,
    ``records_directions`` that its derivative is along directions, and computed by recording.
    """

    def __init__(self, *, pushes_forward: bool = False, records_directions: bool = False) -> None:
        self.pushes_forward, self.is_open = pushes_forward, False
        self.records_directions = records_directions
        self.began = peek_number()
        self._pulling = False

    @contextmanager
    def pulling(self) -> Iterator[None]:
        """In the block the level is differentiated."""
        before, self._pulling = self._pulling, True
        try:
            yield
        finally:
            self._pulling = before

    def made(self, t: Any) -> bool | None:
        """Whether a tensor's history was recorded since the level began; ``None`` for a tensor without one."""
        edge = gradient_edge(t)
        if edge is None:
            return None
        node, _ = edge_parts(edge)
        if node.accumulates:
            return t.need_meta().level is self
        return node._number >= self.began

    def left_of(self, t: Any) -> tuple[Any, bool]:
        """What a cut leaves of a tensor: where its gradients go, and whether it keeps its tangent."""
        edge = gradient_edge(t)
        if self.pushes_forward:
            return edge, False
        return (_Cut(self, edge, t._sig) if self.reaches_beyond(edge) else None), True

    def reaches_beyond(self, edge: Any, own: frozenset[int] = frozenset()) -> bool:
        """Whether a graph ends at a leaf not among ``own`` (ids) that is the program's, or of another open level."""
        if edge is None:
            return False
        ends = (node.variable for node in reached([edge_parts(edge)[0]]) if node.accumulates)
        return any(self._is_beyond(leaf) for leaf in ends if id(leaf) not in own)

    def _is_beyond(self, leaf: Any) -> bool:
        if not leaf.requires_grad:
            return False
        level = leaf.need_meta().level
        return level is None or (level.is_open and level is not self)

    def stops(self) -> bool:
        """Whether gradients end at the level's cuts now."""
        return self._pulling


def reached(nodes: list[Any]) -> Iterator[Any]:
    """Nodes, and all that gradients reach from them."""
    stack, seen = list(nodes), set(nodes)
    while stack:
        node = stack.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)


class Through:
    """Grad modes that a program switches beneath a derivative along directions which is computed by recording.

    Tangents pass through them, so everything is recorded; ``spans`` has the numbers of nodes that, for gradients,
    would not be there.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._since = 0 if enabled else peek_number()
        self._spans: list[tuple[int, int]] = []

    def switch(self, enabled: bool) -> bool:
        """Note that the program switches recording on or off; what it was before."""
        before, self.enabled = self.enabled, enabled
        if before and not enabled:
            self._since = peek_number()
        elif enabled and not before:
            self._spans.append((self._since, peek_number()))
        return before

    def refuse_gradients(self, outputs: list[Any]) -> None:
        """``RuntimeError`` if gradients of somebody else's would pass where the program had recording off."""
        if not self._spans:
            return
        edges = [edge for edge in map(gradient_edge, outputs) if edge is not None]
        quiet = [n for n in reached([edge_parts(e)[0] for e in edges]) if self._was_off(n._number)]
        for node in reached(quiet):
            if node.accumulates and node.variable.requires_grad and not _pushes(node.variable):
                raise RuntimeError(
                    "jvp within a jvp: no_grad() in the function would have to stop the gradients of a tensor that "
                    "requires grad, but not tangents. Only one of both can be done here: detach that tensor first."
                )

    def _was_off(self, number: int) -> bool:
        return any(since <= number < until for since, until in self._spans)


def _pushes(leaf: Any) -> bool:
    level = leaf.need_meta().level
    return level is not None and level.records_directions


class _Cut(GraphNode):
    """Passes gradients on unless they are those of its own level."""

    __slots__ = ("_edges", "point")
    qualified_name = "AliasBackward0"  # what it is to code that walks the graph
    point: CutPoint

    def __init__(self, point: CutPoint, edge: Any, sig: Any) -> None:
        super().__init__((edge,), (sig,))
        self.point = point

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        return (None if self.point.stops() else grads[0],)

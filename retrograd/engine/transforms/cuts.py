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

    ``is_open`` says that its function is running, ``pushes_forward`` that its derivative is the tangents themselves.
    """

    def __init__(self, *, pushes_forward: bool = False) -> None:
        self.pushes_forward, self.is_open = pushes_forward, False
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
        stack = [edge_parts(edge)[0]]
        seen = set(stack)
        while stack:
            node = stack.pop()
            variable: Any = getattr(node, "variable", None)
            if variable is not None and variable.requires_grad and id(variable) not in own:
                level = variable.need_meta().level
                if level is None or (level.is_open and level is not self):
                    return True
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    stack.append(following)
        return False

    def stops(self) -> bool:
        """Whether gradients end at the level's cuts now."""
        return self._pulling


class _Cut(GraphNode):
    """Passes gradients on unless they are those of its own level."""

    __slots__ = ("_edges", "point")
    qualified_name = "AliasBackward0"  # what its value is, to whoever walks the graph
    point: CutPoint

    def __init__(self, point: CutPoint, edge: Any, sig: Any) -> None:
        super().__init__((edge,), (sig,))
        self.point = point

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        return (None if self.point.stops() else grads[0],)

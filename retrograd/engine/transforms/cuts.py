"""What ``detach_``, ``.data`` and ``no_grad`` do beneath derivatives, all of which share one graph here.

The first two cut the history of one level, not of those around it: a cut is a node that passes nothing on while its
own level is differentiated, and everything while another one is.  ``no_grad`` stops gradients, but no tangents.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import observe
from ..aliasing.views import gradient_edge
from ..nodes.hooks import register
from ..nodes.node import GraphNode, edge_parts
from ..switches.state import STATE, peek_number


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
    """Grad modes that a program switches beneath derivatives of which one is along directions, by recording.

    Tangents pass through them, so everything is recorded.  What is recorded while they are off is held back: it passes
    nothing on but where directions are taken, and what computes its derivatives then is held back as well.  ``open_to``
    are derivatives taken where they are off around these: their own gradients pass what is held back for others'.
    """

    def __init__(self, enabled: bool = True, open_to: tuple[CutPoint, ...] | None = None) -> None:
        self.enabled, self.open_to = enabled, open_to
        self.takes_directions = False
        self.of_write = False
        """Whether a node is running that belongs to an unrecorded write."""
        self.has_functions = False
        """Whether custom Functions were applied, which are asked for their ``jvp`` in forward mode alone."""
        self._listens = False
        self._written: dict[int, Any] = {}
        """Where gradients of tensors went that are being written, by id."""
        if self.holds_back():
            self.listen()

    def switch(self, enabled: bool) -> bool:
        """Note that the program switches recording on or off; what it was before."""
        before, self.enabled = self.enabled, enabled
        if not enabled:
            self.listen()
        return before

    def set_to(self, enabled: bool, open_to: Any, of_write: bool) -> tuple[bool, Any, bool]:
        """Hold back what a node is about to record; what there was before."""
        before = self.enabled, self.open_to, self.of_write
        self.enabled, self.open_to, self.of_write = enabled, open_to, of_write
        if self.holds_back():
            self.listen()
        return before

    def beneath(self, cut: CutPoint | None, enabled: bool = True) -> Through:
        """What there is beneath a further derivative, by recording; ``cut`` is its own unless along directions."""
        open_to = self.open_to if self.enabled else ()
        if cut is not None and open_to is not None:
            open_to = (*open_to, cut)
        return Through(enabled, open_to)

    def holds_back(self) -> bool:
        """Whether what is recorded now passes some gradients only."""
        return not self.enabled or self.open_to is not None

    def listen(self) -> None:
        """Hear of what is recorded from now on."""
        if not self._listens:
            self._listens = True
            observe.add(self)

    def end(self) -> None:
        """The derivative is over."""
        observe.remove(self)

    @contextmanager
    def directions(self) -> Iterator[None]:
        """In the block gradients are those of directions."""
        before, self.takes_directions = self.takes_directions, True
        try:
            yield
        finally:
            self.takes_directions = before

    def _is_heard(self) -> bool:
        return STATE.through is self and self.holds_back()

    def _hold_back(self, node: GraphNode, *, of_write: bool = False) -> None:
        hold_back(node, (self.open_to or ()) if self.enabled else (), of_write=of_write or self.of_write)

    def operation(self, op: Any, args: Any, node: Any, inputs: list[Any], outputs: list[Any], took: int) -> None:
        """A node of what the program does not want to be recorded."""
        if node is not None and self._is_heard():
            self._hold_back(node)

    def function_ended(self, node: Any, args: Any, results: Any) -> None:
        """The same of a custom Function."""
        self.has_functions = True
        if self._is_heard():
            self._hold_back(node)

    def writing(self, op: Any, args: Any) -> None:
        """Keep the history that a write would replace."""
        if self._is_heard():
            base = _base_of(args[0])
            self._written[id(base)] = gradient_edge(base)

    def inplace(self, op: Any, args: Any, node: Any, t: Any, inputs: list[Any]) -> None:
        """The history of what was written is the one from before, but for directions."""
        base = _base_of(t)
        before = self._written.pop(id(base), None)
        if node is None or not self._is_heard():
            return
        self._hold_back(edge_parts(base._fn)[0], of_write=not self.enabled)
        if not self.enabled:
            base._fn = _Written(base._fn, before, base._sig)
            if base is not t:
                t._meta.view.version = -1  # its node is made anew from that of the base


def _base_of(t: Any) -> Any:
    view = t._meta.view if t._meta is not None else None
    return t if view is None else view.base


def takes_directions() -> bool:
    """Whether the running backward pass is part of a derivative along directions."""
    return STATE.through is not None and STATE.through.takes_directions


def hold_back(node: GraphNode, open_to: tuple[CutPoint, ...] = (), *, of_write: bool = False) -> None:
    """Let a node pass on only directions and the gradients of ``open_to``; what it records then is held back, too.

    ``of_write`` says that it belongs to an unrecorded write, or computes a derivative of one.
    """
    before: list[tuple[Any, ...]] = []

    def begun(grads: tuple[Any, ...]) -> Any:
        if takes_directions():
            before.append(STATE.through.set_to(bool(open_to), open_to, of_write))
        elif not any(cut.stops() for cut in open_to):
            if of_write and any(g is not None for g in grads):
                raise RuntimeError(_GRADIENT_OF_WRITE)
            return (None,) * len(grads)
        return None

    def ended(results: Any, grads: Any) -> None:
        if takes_directions():
            STATE.through.set_to(*before.pop())

    extra = node.need_extra()
    extra.pre_hooks = extra.pre_hooks or OrderedDict()
    extra.post_hooks = extra.post_hooks or OrderedDict()
    register(extra.pre_hooks, begun)
    extra.post_hooks.move_to_end(register(extra.post_hooks, ended).id, last=False)  # of two, the outer one comes last


_GRADIENT_OF_WRITE = (
    "A tensor was written in place under no_grad() beneath a derivative along directions, and the result is "
    "differentiated once more: that derivative is not known. Compute a new tensor in place of the write."
)


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


class _Written(GraphNode):
    """Passes gradients on to the history of a write where directions are taken, else to that from before."""

    __slots__ = ("_edges",)
    qualified_name = "AliasBackward0"

    def __init__(self, written: Any, before: Any, sig: Any) -> None:
        super().__init__((written, before), (sig,))

    def _run(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        return (grads[0], None) if takes_directions() else (None, grads[0])

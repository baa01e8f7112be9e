"""Our own engine as the inspector sees it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from ...engine import observe
from ...engine.accumulate import AccumulateGrad
from ...engine.base import TensorBase
from ...engine.edges import GradientEdge
from ...engine.function.function import Function
from ...engine.function.node import BackwardCFunction
from ...engine.introspection import current_node
from ...engine.node import GraphNode, edge_parts
from ...engine.opnode import OpNode
from ...engine.saved import SavedTensor
from ...engine.state import peek_number
from ...engine.tensor import Tensor
from ...engine.views import CopySlices, gradient_edge
from ...errors import NoGraphError
from ..events import Event
from ..frames import forget_judgements, source_line, user_frame
from ..snapshot import GraphSnapshot
from .base import Node, Sink
from .collect import collect
from .hook_lines import attach
from .naming import NameMemory, Naming, add_origins
from .origins import OriginTables

_APPLY_DEPTH = 12
"""How far below ``Function.apply`` the first operation of a ``forward`` is looked for."""
_FUNCTION_FILE = sys.modules[Function.__module__].__file__ or ""


class _Facts:
    """What the walk asks about our nodes."""

    engine = "retrograd"
    plain_tensors: frozenset[type] = frozenset({Tensor})

    def kind(self, node_type: type) -> str:
        """Tell leaves, custom Functions and CopySlices from operators."""
        if issubclass(node_type, AccumulateGrad):
            return "leaf"
        if issubclass(node_type, BackwardCFunction):
            return "function"
        return "copy" if issubclass(node_type, CopySlices) else "op"

    def saved_bytes(self, order: list[Node]) -> list[int | None]:
        """Add up the arrays that each node holds; None where hooks packed one, whose size only they know."""
        return [_bytes_of(node) for node in order]


def _bytes_of(node: Node) -> int | None:
    """Return the bytes of the distinct arrays that a node keeps for backward."""
    if isinstance(node, CopySlices):
        node = node.fn
    kept = getattr(node, "saved" if isinstance(node, OpNode) else "_saved", None)
    sizes: dict[int, int] = {}
    waiting = list(kept or ())
    for value in waiting:  # grows while it is read
        if isinstance(value, (list, tuple)):
            waiting.extend(value)
        elif isinstance(value, SavedTensor):
            if value.unpack_hook is not None:
                return None
            waiting.append(value.data)
        else:
            array = value._array if isinstance(value, TensorBase) else value
            if hasattr(array, "nbytes") and hasattr(array, "strides"):
                sizes[id(array)] = array.nbytes
    return sum(sizes.values())


class EngineSource:
    """The source of our own graphs."""

    name = "retrograd"

    def owns(self, obj: object) -> bool:
        """Whether an object is a tensor, node or gradient edge of our engine."""
        return isinstance(obj, (TensorBase, GraphNode, GradientEdge))

    def edges(self, obj: Any) -> list[tuple[Node, int]]:
        """Return where a backward run from this object would start."""
        return [_start(obj)]

    def snapshot(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str = "walk",
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
    ) -> GraphSnapshot:
        """Picture the graph behind these objects."""
        facts = _Facts()
        shot, order, leaves = collect([_start(root)[0] for root in roots], facts)
        shot.label = label
        add_origins(shot, _WATCHER.tables)
        naming = Naming(TensorBase, roots, frame if find_names else None, params)
        naming.memory = _WATCHER.memory
        naming.add_to(shot, order, leaves)
        return shot

    @contextmanager
    def log_hooks(self, roots: list[Any], log: Callable[[str], None], *, verbose: bool) -> Iterator[None]:
        """Log each node behind these objects as it executes, until the block ends."""
        order = collect([_start(root)[0] for root in roots], _Facts()).order
        remove = attach(order, current_node, log, verbose=verbose)
        del roots, order  # the hooks need neither, and the user's tensors may die inside the block
        try:
            yield
        finally:
            remove()

    def watch(self, sink: Sink, *, every_thread: bool = True, level: str = "graph") -> AbstractContextManager[None]:
        """Tell the sink of every backward run."""
        return _WATCHER.watch(_Observer(sink, self, None if every_thread else threading.get_ident()))


def _start(obj: Any) -> tuple[Node, int]:
    """Return the node and input number at which a backward run from this object would start."""
    if isinstance(obj, GradientEdge):
        return obj.node, obj.output_nr
    if not isinstance(obj, TensorBase):
        return obj, 0
    edge = gradient_edge(obj)
    if edge is None:
        raise NoGraphError(
            "This tensor has no backward graph: it does not require gradients.",
            "Compute it from tensors with requires_grad=True, outside no_grad() and detach().",
        )
    return edge_parts(edge)


class _Watcher:
    """Notes where nodes come from while anybody watches."""

    def __init__(self) -> None:
        self.tables: OriginTables | None = None
        self.memory: NameMemory | None = None
        self._begin = 0
        """Number of the first node made under watch."""
        self._watching = 0
        self._lock = threading.Lock()

    @contextmanager
    def watch(self, observer: _Observer) -> Iterator[None]:
        """Let an observer see the engine, and the first one's coming and the last one's going see to the lines."""
        with self._lock:
            self._watching += 1
            if self._watching == 1:
                self.tables, self.memory, self._begin = OriginTables(), NameMemory(), peek_number()
                observe.add(self)
        observe.add(observer)
        try:
            yield
        finally:
            observe.remove(observer)
            with self._lock:
                self._watching -= 1
                if not self._watching:
                    observe.remove(self)
                    self.tables = self.memory = None
                    forget_judgements()

    def operation(self, op: Any, args: Any, node: Node | None, inputs: Any, outputs: Any) -> None:
        """Note the user's line of a new node; without one (in a ``forward``) only what was made before it."""
        self._note(peek_number() if node is None else node._number, sys._getframe(1))

    def inplace(self, op: Any, args: Any, node: Node | None, tensor: Any, inputs: Any) -> None:
        """Note the user's line of the nodes of an in-place write."""
        if self.tables is not None:
            self._note(self.tables.here(self._begin).end, sys._getframe(1))

    def backward_began(self, roots: list[tuple[Node, int]]) -> None:
        """Nodes made from here on belong to the run."""
        if self.tables is not None:
            self.tables.here(self._begin).gap(peek_number(), None)

    def backward_ended(self, error: BaseException | None) -> None:
        """Note the line of the run for what it made: the graph of the gradients."""
        if self.tables is not None:
            self.tables.here(self._begin).gap(peek_number(), user_frame(sys._getframe(1)))

    def _note(self, number: int, caller: FrameType) -> None:
        """Give nodes from this number on to the caller's line, and those before it to ``Function.apply``'s."""
        if self.tables is None:
            return
        marks = self.tables.here(self._begin)
        if number > marks.end:
            marks.gap(number, _applying_line(caller))
        marks.note(number, peek_number(), user_frame(caller))


def _applying_line(frame: FrameType | None) -> FrameType | None:
    """Return the user's frame that called ``Function.apply``, if this frame runs inside one's ``forward``."""
    for _ in range(_APPLY_DEPTH):
        if frame is None:
            return None
        code = frame.f_code
        if code.co_name == "apply" and code.co_filename == _FUNCTION_FILE:
            return user_frame(frame)
        frame = frame.f_back
    return None


class _Depth(threading.local):
    runs = 0


class _Observer:
    """Reports the backward runs of the engine to one sink."""

    def __init__(self, sink: Sink, source: EngineSource, thread: int | None) -> None:
        self._sink = sink
        self._source = source
        self._thread = thread
        self._depth = _Depth()
        self._begin = peek_number()
        """Sequence number that the recording counts from."""

    def _sees(self) -> bool:
        return self._thread is None or self._thread == threading.get_ident()

    def backward_began(self, roots: list[tuple[Node, int]]) -> None:
        """Report a run and its graph; a run inside a run has none of its own."""
        if not self._sees():
            return
        self._depth.runs += 1
        frame = user_frame(sys._getframe(1))
        event = Event("backward", source=source_line(frame))
        shot = None
        if self._depth.runs > 1:
            event.data["nested"] = True
        else:
            try:
                shot = self._source.snapshot([node for node, _ in roots], frame, label="backward")
                shot.first_seq = -self._begin
            except Exception as failure:  # never the program's business
                event.data["problem"] = f"{type(failure).__name__}: {failure}"
        self._report(event, shot)

    def backward_ended(self, error: BaseException | None) -> None:
        """Report how a run ended."""
        if self._sees():
            self._depth.runs -= 1
            data = {} if error is None else {"error": f"{type(error).__name__}: {error}"}
            self._report(Event("backward-end", source=source_line(user_frame(sys._getframe(1))), data=data), None)

    def _report(self, event: Event, shot: GraphSnapshot | None) -> None:
        try:
            self._sink(event, shot)
        except Exception:  # a broken sink must not break the program
            pass


_WATCHER = _Watcher()
SOURCE = EngineSource()

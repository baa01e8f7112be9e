"""The part of ``source`` that needs the engine: the graph walk, logging hooks, watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from ....engine import observe
from ....engine.aliasing.views import gradient_edge, has_history, requires_grad
from ....engine.core.base import TensorBase
from ....engine.nodes.edges import GradientEdge
from ....engine.nodes.node import GraphNode, edge_parts
from ....engine.overriding.overrides import DisableTorchFunction
from ....errors import NoGraphError
from ...graphs.graph import Graph
from ..base import Gradient, Node, Ran, Sink
from ..collect import collect
from ..hook_lines import attach, labels_of
from ..naming import Naming, add_origins
from .backward.facts import Facts, array_of
from .backward.lines import LINES, Follower
from .backward.nodes import Nodes
from .backward.repeats import Repeats
from .backward.runs import Runs, TakeSnapshot
from .backward.steps import stepping
from .calls.call_describer import CallDescriber
from .calls.calls import Calls
from .calls.leaves import Leaves
from .calls.severing import Severing
from .calls.unobserved_writes import UnobservedWrites
from .calls.writes import Writes
from .objects.functions import Checkpoints, Functions
from .objects.hooks import Hooks
from .objects.modes import Autocasts, FunctionalCalls, GradModes
from .objects.owners import Clipping, Owners, TrainingCalls
from .objects.replay import EngineReplay
from .objects.shared import SharedMemory
from .watching import Observer, Walked, Watching


def observers_for(watching: Watching, take_snapshot: TakeSnapshot) -> list[Observer | Follower]:
    """Return the observers for a watcher's level, in the order in which they are notified."""
    runs = Runs(watching, take_snapshot)
    found: list[Observer | Follower] = [runs, Owners(watching, LINES), Severing(watching, LINES)]
    if watching.wants("full"):
        describer, shared = CallDescriber(watching), SharedMemory(watching)
        found += [TrainingCalls(watching), GradModes(watching, describer.switches), FunctionalCalls(watching)]
        found += [Autocasts(watching)]
        runs.look = shared.look
        found += [Calls(watching, describer, shared), Writes(watching, describer, shared), Leaves(watching)]
        found.append(UnobservedWrites(watching, describer, shared))
    if watching.wants("backward"):
        nodes = Nodes(watching)
        runs.prepare = nodes.prepare
        found += [Hooks(watching), Functions(watching), Checkpoints(watching), Clipping(watching), nodes]
    return found if watching.wants("full") else [*found, Follower()]


@contextmanager
def observing(observers: Sequence[Observer | Follower]) -> Iterator[None]:
    """Register these observers with the engine until the block ends."""
    for observer in observers:
        observe.add(observer)
    try:
        yield
    finally:
        for observer in reversed(observers):
            observe.remove(observer)
            observer.close()


class EngineGraphs:
    """The methods of ``Source``, for our engine."""

    def owns(self, obj: object) -> bool:
        """Whether an object is a tensor, node or gradient edge of our engine."""
        return isinstance(obj, (TensorBase, GraphNode, GradientEdge))

    def edges(self, obj: Any) -> list[tuple[Node, int]]:
        """Return where backward from this object starts."""
        return [_start(obj)]

    def snapshot(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str = "walk",
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
    ) -> Graph:
        """Take a snapshot of the graph behind these objects."""
        return self._walk(roots, frame, label, params, find_names=find_names).snapshot

    def _walk(
        self,
        roots: list[Any],
        frame: FrameType | None,
        label: str,
        params: Mapping[str, Any] | None = None,
        *,
        find_names: bool = True,
    ) -> Walked:
        with DisableTorchFunction():
            facts = Facts()
            snapshot, order, leaves = collect([_start(root)[0] for root in roots], facts)
            snapshot.label = label
            add_origins(snapshot, LINES.tables)
            naming = Naming(TensorBase, roots, frame if find_names else None, params)
            naming.modules, naming.memory, naming.origins = LINES.modules(), LINES.memory, LINES.tables
            naming.add_to(snapshot, order, leaves)
            return Walked(snapshot, order, facts.saved_once)

    def _taking_snapshots(self, repeats: Repeats) -> TakeSnapshot:
        """Return a function that takes snapshots of graphs, many of which are equal."""

        def take_snapshot(roots: list[Node], frame: FrameType | None) -> Walked:
            found = repeats.snapshot(roots, frame, LINES.tables)
            if found is None:
                found = self._walk(roots, frame, "backward")
                repeats.learn(roots, frame, found)
            return found

        return take_snapshot

    @contextmanager
    def log_hooks(
        self, roots: list[Any], frame: FrameType, log: Callable[[str], None], *, verbose: bool
    ) -> Iterator[None]:
        """Log each node behind these objects as it executes, until the block ends."""
        walked = self._walk(roots, frame, "log")
        remove = attach(walked.order, labels_of(walked.snapshot), log, array_of, verbose=verbose)
        del roots, walked, frame  # the hooks need none, and the user's tensors may die inside the block
        try:
            yield
        finally:
            remove()

    @contextmanager
    def watch(self, sink: Sink, thread: int | None, level: str) -> Iterator[None]:
        """Send the events of one thread, or of all, to a sink until the block ends."""
        watching = Watching(sink, thread, level)
        observers = observers_for(watching, self._taking_snapshots(Repeats()))
        with LINES.watch(), observing(observers):
            yield

    def steps(self, look: Callable[[Ran], None]) -> AbstractContextManager[None]:
        """Call ``look`` for each node that runs on this thread."""
        return stepping(look)

    def gradient(self, tensor: Any) -> Gradient:
        """Read a tensor's gradient."""
        meta = tensor._meta
        held = None if meta is None else meta.grad
        hidden = held is not None and held.is_meta
        value = None if held is None or hidden else array_of(held)
        retains = meta is not None and meta.retains_grad
        return Gradient(not has_history(tensor), requires_grad(tensor), retains, value, hidden)

    def replay(self) -> EngineReplay:
        """Return what runs Functions again."""
        return EngineReplay()


def _start(obj: Any) -> tuple[Node, int]:
    """Return the node and input number at which backward from this object starts."""
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


GRAPHS = EngineGraphs()

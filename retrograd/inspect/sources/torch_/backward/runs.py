"""Records PyTorch's backward passes: arguments, graph, measures of nodes and leaves, and how each ended."""

from __future__ import annotations

import math
import threading
import time
from types import FrameType
from typing import Any

from .....errors import NoGraphError
from ....graphs.graph import Graph
from ....program.frames import source_line
from ....program.signals import reraise_from_handler
from ....recording.event_data import Values
from ....recording.events import Event, Facts
from ....recording.journal import Note, Rows
from ...array_values import gradient_figures, summary
from ...base import Node, Watch
from ...naming import name_leaves
from ...origins import Marks
from ...writers.backward import Arrived, Asked, BackwardPass, accumulation
from ..calls.tensors import numbers_of
from ..library import LIBRARY
from ..private import private
from ..problems import note_problem
from ..values.far import summary as summary_of_far
from ..values.readbacks import NORM, READBACKS, Promise
from ..values.values import Readable
from .measures import MAX_NODES, How, Measures

_ARGUMENTS = ("gradients", "retain_graph", "create_graph", "inputs")
"""Positional arguments of ``_engine_run_backward`` after the roots."""


def asked_of(roots: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked:
    """Return the arguments of an engine's call; only outputs with several entries need given gradients."""
    given, tensor = {**dict(zip(_ARGUMENTS, args, strict=False)), **kwargs}, LIBRARY.torch.Tensor
    create, tensors = bool(given.get("create_graph")), [root for root in roots if isinstance(root, tensor)]
    weights = given.get("gradients") or () if create else ()
    return Asked(
        "backward" if given.get("accumulate_grad") else "grad",
        tensors,
        [one for one in given.get("inputs") or () if isinstance(one, tensor)],
        [one for one in weights if getattr(one, "requires_grad", False)],
        any(root.numel() != 1 for root in tensors),
        bool(given.get("retain_graph")),
        create,
    )


def refused(watch: Watch, roots: Any, api: str, error: BaseException, frame: FrameType | None) -> None:
    """Send a backward pass that PyTorch rejected before calling its engine."""
    tensors = [root for root in roots if isinstance(root, LIBRARY.torch.Tensor)]
    asked = Asked(api, tensors, (), (), gradients_given=False, retain_graph=False, create_graph=False)
    line = source_line(frame)
    BackwardPass(watch, asked, watch.sink.begin_run(), _thread(), line).failed(line, error)


def _thread() -> int:
    """Return 0 for the main thread, else the thread's native id."""
    return 0 if threading.current_thread() is threading.main_thread() else threading.get_native_id()


class RunWriter:
    """Writes one backward pass into one recording."""

    def __init__(self, watch: Any, roots: Any, asked: Asked, marks: Marks, *, nested: bool) -> None:
        """``roots`` are tensors, or edges of a graph."""
        self.watch = watch
        self.number: int = watch.sink.begin_run()
        self.measures: Measures | None = None
        self._asked: tuple[list[Any], Asked] | None = (list(roots), asked)
        self._pass: BackwardPass | None = None
        self._marks = marks
        self._nested, self._refused = nested, False
        self._snapshot: Graph | None = None
        self._leaves_at_start: list[Node] = []
        """Nodes of leaves that are roots: nothing else holds them, and our hooks would be lost with them."""
        self._began = time.perf_counter()

    def begin(self, frame: FrameType | None) -> None:
        """Send the arguments, with the graph; register hooks on its nodes from level ``backward`` on.

        In a nested pass only leaves get hooks, and its graph is not kept.
        """
        assert self._asked is not None
        (roots, asked), self._asked = self._asked, None
        line = source_line(frame)
        self._pass = BackwardPass(self.watch, asked, self.number, _thread(), line)
        event = self._pass.begins(line)
        self._add_circumstances(event, asked, frame)
        order: list[Node] = []
        hooked = self.watch.level != "graph"
        if hooked or not self._nested:
            try:
                self._snapshot, order = self.watch.source.walked(
                    roots,
                    frame,
                    label="backward",
                    table=self._table(),
                    repeats=self.watch.repeats,
                    ask_saved=self.watch.level == "backward",
                )
                self._snapshot.first_seq -= self._marks.begin
            except NoGraphError:
                self._refused = True  # PyTorch is about to say so itself
            except Exception as failure:
                reraise_from_handler(failure)
                event.data["problem"] = f"{type(failure).__name__}: {failure}"
        leaves = self._leaves(order)
        self._leaves_at_start = [order[row] for row in leaves if self._snapshot and row in self._snapshot.roots]
        loud = range(len(order)) if asked.inputs else self._loud(leaves)
        snapshot = None if self._nested else self._snapshot
        if snapshot is not None and self.watch.forward is not None:
            self.watch.forward.saved.fill(snapshot)
            self.watch.forward.shared.look(frame)
        self._send(event, snapshot)
        if self._snapshot is not None and hooked and len(order) <= MAX_NODES:
            looking = self.watch.latest.read(order, self._snapshot, loud)
            how = How(
                listening=self.watch.forward is not None or _of_program(roots),
                leaves_only=self._nested,
                all_leaves=self.watch.sink.among_ranks() or _in_group(),
                whole=self.watch.sink.figures.takes_all(self.number),
            )
            self.measures = Measures(order, leaves, self._snapshot, looking, self.watch.memory, how)
        self._began = time.perf_counter()

    def _leaves(self, order: list[Node]) -> dict[int, Any]:
        """Return the tensors of leaves by row, from level ``backward`` on."""
        if self._snapshot is None or self.watch.level == "graph":
            return {}
        return {row: order[row].variable for row in self.watch.latest.leaves(self._snapshot)}

    def _loud(self, leaves: dict[int, Any]) -> set[int]:
        """Return the nodes at which the program's hooks may change the incoming gradient, as far as known."""
        if self._snapshot is None or self.watch.level == "graph":
            return set()
        begin = self._snapshot.first_seq + self._marks.begin
        hooked = {number - begin for number in self.watch.hooked.numbers}
        found = {row for row, number in enumerate(self._snapshot.seq) if number in hooked} if hooked else set()
        return found | {row for row, leaf in leaves.items() if leaf._backward_hooks}

    def _table(self) -> Any:
        return None if self.watch.level == "graph" else self.watch.sink.tensors

    def _add_circumstances(self, event: Event, asked: Asked, frame: FrameType | None) -> None:
        """Add the device of the roots, and names of leaves without one."""
        if self._nested:
            event.data["nested"] = True
        elsewhere = next((root.device.type for root in asked.roots if getattr(root, "is_cpu", True) is False), "")
        if elsewhere:
            event.data["device"] = elsewhere
        if self.watch.level == "full":
            name_leaves(self.watch.sink.tensors, frame, LIBRARY.torch.Tensor)

    def end(self, error: BaseException | None, frame: FrameType | None) -> None:
        """Send the gradients that leaves received, and how the pass ended."""
        measured: dict[str, Any] = {}
        if self.watch.level != "graph":
            measured["seconds"] = time.perf_counter() - self._began
        if self.measures is not None and self._snapshot is not None:
            self.measures.detach()
            self.measures.finish(self._snapshot)
            if not self._nested:
                measured["nodes"] = self.measures.count
            kept = self._accumulated(frame)
            if kept:
                measured["kept_norms"] = kept
            if error is not None and self.measures.last is not None and not self._nested:
                failed = self._snapshot.seq[self.measures.last]
                if failed is not None:
                    measured["failed_node"] = self._snapshot.first_seq + failed
        self.measures = self._snapshot = None
        self._leaves_at_start.clear()
        if self._pass is not None:
            self._pass.ended(source_line(frame), error, measured, refused=self._refused)

    def returned(self, gradients: Any, frame: FrameType | None) -> None:
        """Send the origins of the gradients that ``grad`` returned."""
        if self._pass is not None and isinstance(gradients, (tuple, list)):
            tensor: type = LIBRARY.torch.Tensor
            self._pass.returned([one for one in gradients if isinstance(one, tensor)], source_line(frame))

    def _accumulated(self, frame: FrameType | None) -> dict[str, float]:
        """Send an event for each leaf that got a gradient; on ranks, return the norms of ``.grad``."""
        assert self.measures is not None
        line, table, run = source_line(frame), self.watch.sink.tensors, self.number
        ranks, kept = self.watch.sink.among_ranks(), dict[str, float]()
        met = [(arrival, leaf) for arrival in self.measures.arrivals if (leaf := arrival.leaf()) is not None]
        leaves = [leaf for _, leaf in met]
        norms = dict(zip(map(id, leaves), map(self._norm, leaves), strict=True)) if ranks else {}
        figures, keys = self.measures.figures_of([arrival for arrival, _ in met])
        numbers, not_finite = numbers_of(table, leaves), figures.not_finite(keys)
        self.watch.sink.mention(line)
        note = self.watch.sink.note
        for (arrival, leaf), number, key in zip(met, numbers, keys, strict=True):
            values = _summary(leaf, figures.promised(key)) if key in not_finite else None
            norm = norms.get(id(leaf))
            if norm is not None:
                kept[str(number)] = norm["norm"] if isinstance(norm, Promise) else norm
            note((_event, line, number, run, arrival.before, leaf._version, leaf.numel(), figures, key, values))
        return kept

    def _norm(self, leaf: Any) -> float | Promise | None:
        """Return the norm of a leaf's current gradient."""
        if leaf.grad is None:
            return None
        readable = Readable()
        if readable.is_far(leaf.grad):
            return READBACKS.ask(leaf.grad, NORM)
        array = readable.gradient(leaf.grad)
        figures = None if array is None else gradient_figures(array)
        return None if figures is None else figures[0]

    def _send(self, event: Event, snapshot: Graph | None) -> None:
        try:
            self.watch.sink(event, snapshot)
        except Exception as problem:  # a broken sink must not break the program
            note_problem(problem)


def _summary(leaf: Any, arrived: Promise | None) -> Values | None:
    """Summarize a leaf's current gradient; for one on another device, what arrived is enough."""
    if arrived is not None:
        return summary_of_far(arrived, tuple(leaf.shape))
    array = None if leaf.grad is None else Readable().gradient(leaf.grad)
    return None if array is None else summary(array)


def _event(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of a gradient that arrived in a leaf; a ``Maker``."""
    return Event.later("accumulate", "", note[1], _accumulation, note)


def _accumulation(note: Facts) -> dict[str, Any]:
    """Return the data of a gradient that arrived in a leaf."""
    _, _, number, run, before, version, size, known, key, values = note
    figures, arrived = known.of(key), Arrived(size, None, None, None, None)
    if figures is not None:
        squares, low, high, _, zero, _, _, entries, _ = figures
        zeros = None if math.isnan(zero) else round(zero / entries * size)
        arrived = Arrived(size, math.sqrt(squares), zeros, low, high)
    return accumulation(number, before, version, run, arrived, values)


def _of_program(roots: list[Any]) -> bool:
    """Whether a class or a mode of the program may be called when tensors are read."""
    plain = (LIBRARY.torch.Tensor, LIBRARY.torch.nn.Parameter)
    return any(type(root) not in plain for root in roots) or any(
        not type(mode).__module__.startswith(__name__.partition(".")[0]) for mode in private().modes()
    )


def _in_group() -> bool:
    """Whether the program is one of several that share gradients, which then change before a run is over."""
    distributed = LIBRARY.torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized())

"""Records the backward runs of PyTorch: arguments, graph, measures of nodes and leaves, and how each ended."""

from __future__ import annotations

import math
import threading
import time
from types import FrameType
from typing import Any

from ....event_data import Values
from ....events import Event, Facts
from ....journal import Note, Rows
from ....program.frames import source_line
from ....program.signals import let_pass
from ....snapshot import GraphSnapshot
from ...array_values import gradient_figures, summary
from ...base import Node
from ...naming import name_leaves
from ...origins import Marks
from ..calls.tensors import number_of, numbers_of
from ..library import LIBRARY
from ..private import private
from ..problems import note_problem
from ..values.far import summary as summary_of_far
from ..values.readbacks import NORM, READBACKS, Promise
from ..values.values import Readable
from .measures import MAX_NODES, How, Measures

_ARGUMENTS = ("gradients", "retain_graph", "create_graph", "inputs")
"""Positional arguments of ``_engine_run_backward`` after the roots."""


class Asked:
    """What a call of the engine asks for."""

    def __init__(self, roots: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = {**dict(zip(_ARGUMENTS, args, strict=False)), **kwargs}
        self.roots = list(roots)
        self.gradients = any(getattr(root, "numel", int)() != 1 for root in self.roots)
        """Whether the caller gave gradients, which only results of more than one entry need."""
        self.retain_graph = bool(given.get("retain_graph"))
        self.create_graph = bool(given.get("create_graph"))
        self.inputs = list(given.get("inputs") or ())
        self.weights = list(given.get("gradients") or ()) if self.create_graph else []
        """The gradients that the caller gave, where results that are computed from them have a history."""
        self.api = "backward" if given.get("accumulate_grad") else "grad"


class RunWriter:
    """Writes one run into one recording."""

    def __init__(self, watch: Any, asked: Asked, marks: Marks, nested: bool) -> None:
        self.watch = watch
        self.number: int = watch.sink.begin_run()
        self.measures: Measures | None = None
        self._asked: Asked | None = asked
        self._gives = asked.api == "grad" and watch.level == "full"
        self._retains = asked.create_graph
        self._inputs: list[int] = []
        self._marks = marks
        self._nested = nested
        self._snapshot: GraphSnapshot | None = None
        self._began = time.perf_counter()

    def begin(self, frame: FrameType | None) -> None:
        """Send what is asked for, with the graph; hook its nodes from level ``backward`` on.

        Of a run inside another one only the leaves are hooked, and its graph is not kept.
        """
        asked, self._asked = self._asked, None
        assert asked is not None
        roots = asked.roots
        event = Event("backward", source=source_line(frame), data=self._data(asked, frame))
        order: list[Node] = []
        hooked = self.watch.level != "graph"
        if hooked or not self._nested:
            try:
                self._snapshot, order = self.watch.source.walked(
                    asked.roots, frame, label="backward", table=self._table(), repeats=self.watch.repeats
                )
                self._snapshot.first_seq -= self._marks.begin
            except Exception as failure:
                let_pass(failure)
                event.data["problem"] = f"{type(failure).__name__}: {failure}"
        leaves = self._leaves(order)
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
        return {row: order[row].variable for row, kind in enumerate(self._snapshot.kind) if kind == "leaf"}

    def _loud(self, leaves: dict[int, Any]) -> set[int]:
        """Return the rows at which hooks of the program may change what arrives, as far as they are known."""
        if self._snapshot is None or self.watch.level == "graph":
            return set()
        begin = self._snapshot.first_seq + self._marks.begin
        hooked = {number - begin for number in self.watch.hooked.numbers}
        found = {row for row, number in enumerate(self._snapshot.seq) if number in hooked} if hooked else set()
        return found | {row for row, leaf in leaves.items() if leaf._backward_hooks}

    def _table(self) -> Any:
        return None if self.watch.level == "graph" else self.watch.sink.tensors

    def _data(self, asked: Asked, frame: FrameType | None) -> dict[str, Any]:
        """Say what is asked for."""
        data: dict[str, Any] = {"run": self.number, "api": asked.api}
        data["retain_graph"], data["create_graph"] = asked.retain_graph, asked.create_graph
        data["gradients_given"] = asked.gradients
        data["root_shapes"] = [list(map(int, getattr(root, "shape", ()))) for root in asked.roots]
        data["thread"] = 0 if threading.current_thread() is threading.main_thread() else threading.get_native_id()
        if self._nested:
            data["nested"] = True
        elsewhere = next((root.device.type for root in asked.roots if getattr(root, "is_cpu", True) is False), "")
        if elsewhere:
            data["device"] = elsewhere
        if self.watch.level == "full":
            tensor: type = LIBRARY.torch.Tensor
            table, line = self.watch.sink.tensors, source_line(frame)
            for key, given in (("roots", asked.roots), ("inputs", asked.inputs)):
                data[key] = [number_of(table, one, source=line) for one in given if isinstance(one, tensor)]
            name_leaves(table, frame, tensor)
            weights = [one for one in asked.weights if getattr(one, "requires_grad", False)]
            self._inputs = [*data["inputs"], *(number_of(table, one, source=line) for one in weights)]
        return data

    def end(self, error: BaseException | None, frame: FrameType | None) -> None:
        """Send what the leaves got, and how the run ended."""
        data: dict[str, Any] = {"run": self.number}
        if self.watch.level != "graph":
            data["seconds"] = time.perf_counter() - self._began
        if error is not None:
            data["error"] = f"{type(error).__name__}: {error}"
            data["error_type"] = type(error).__name__
        if self.measures is not None and self._snapshot is not None:
            self.measures.detach()
            self.measures.finish(self._snapshot)
            if not self._nested:
                data["nodes"] = self.measures.count
            kept = self._accumulated(frame)
            if kept:
                data["kept_norms"] = kept
            if error is not None and self.measures.last is not None and not self._nested:
                failed = self._snapshot.seq[self.measures.last]
                if failed is not None:
                    data["failed_node"] = self._snapshot.first_seq + failed
        self.measures = self._snapshot = None
        self._send(Event("backward-end", source=source_line(frame), data=data), None)

    def refused(self, asked: Asked, error: BaseException, frame: FrameType | None) -> None:
        """Send a run that never began."""
        self._asked, said = None, f"{type(error).__name__}: {error}"
        data = {**self._data(asked, frame), "error": said}
        self._send(Event("backward", source=source_line(frame), data=data), None)
        ended = {"run": self.number, "error": said, "error_type": type(error).__name__}
        self._send(Event("backward-end", source=source_line(frame), data=ended), None)

    def returned(self, gradients: Any, frame: FrameType | None) -> None:
        """Say where the gradients that ``grad`` returned come from; without ``create_graph`` they are cut off."""
        if not self._gives or not isinstance(gradients, (tuple, list)):
            return
        tensor: type = LIBRARY.torch.Tensor
        line, table = source_line(frame), self.watch.sink.tensors
        outputs = [number_of(table, one, source=line) for one in gradients if isinstance(one, tensor)]
        data: dict[str, Any] = {"inputs": self._inputs, "outputs": outputs, "grad": self._retains}
        if not self._retains:
            data["reason"] = "create_graph"
        row = self.watch.sink(Event("operation" if self._retains else "cut", op="grad", source=line, data=data), None)
        for number in outputs:
            if table[number].made_by is None:
                table[number].made_by = row

    def _accumulated(self, frame: FrameType | None) -> dict[str, float]:
        """Send an event for each leaf that got a gradient; of ranks, return the norms of what is there now."""
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
        """Return the norm of the gradient that a leaf has now."""
        if leaf.grad is None:
            return None
        readable = Readable()
        if readable.is_far(leaf.grad):
            return READBACKS.ask(leaf.grad, NORM)
        array = readable.gradient(leaf.grad)
        figures = None if array is None else gradient_figures(array)
        return None if figures is None else figures[0]

    def _send(self, event: Event, snapshot: GraphSnapshot | None) -> None:
        try:
            self.watch.sink(event, snapshot)
        except Exception as problem:  # a broken sink must not break the program
            note_problem(problem)


def _summary(leaf: Any, arrived: Promise | None) -> Values | None:
    """Summarize the gradient that a leaf has now; of one on another device, what arrived tells enough."""
    if arrived is not None:
        return summary_of_far(arrived, tuple(leaf.shape))
    array = None if leaf.grad is None else Readable().gradient(leaf.grad)
    return None if array is None else summary(array)


def _event(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of what arrived in a leaf; ``Maker``."""
    return Event.later("accumulate", "", note[1], _accumulation, note)


def _accumulation(note: Facts) -> dict[str, Any]:
    """Describe what arrived in a leaf."""
    _, _, number, run, before, version, size, known, key, values = note
    data: dict[str, Any] = {"tensor": number, "run": run, "version": version}
    if before:
        data["before"] = before
    figures = known.of(key)
    if figures is not None:
        squares, low, high, _, zero, _, _, entries, _ = figures
        data["grad_norm"] = math.sqrt(squares)
        data["grad"] = {"size": size, "nan": 0, "inf": 0}
        if not math.isnan(zero):
            data["grad"] |= {"zero": round(zero / entries * size), "min": low, "max": high}
    if values is not None:
        data["grad"] = values
    return data


def _of_program(roots: list[Any]) -> bool:
    """Whether a class or a mode of the program may be told what is asked of tensors."""
    plain = (LIBRARY.torch.Tensor, LIBRARY.torch.nn.Parameter)
    return any(type(root) not in plain for root in roots) or any(
        not type(mode).__module__.startswith(__name__.partition(".")[0]) for mode in private().modes()
    )


def _in_group() -> bool:
    """Whether the program is one of several that share gradients, which then change before a run is over."""
    distributed = LIBRARY.torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized())

"""Observes nodes as they run: time, statistics of incoming and outgoing gradients, accumulation into leaves."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any, NamedTuple

from .....engine.core.base import TensorBase
from .....engine.switches.quiet import quietly
from ....program.places import SourceLine
from ....recording.event_data import Values
from ....recording.events import Event
from ....recording.journal import Maker, Note, Rows
from ....recording.tensor_facts import TensorFacts
from ....references import Reference
from ... import array_values as values
from ...base import Node
from ...writers.backward import Arrived, accumulation
from ..watching import Observer, Run, Walked, guarded, report_problem, shape_and_dtype, version
from .facts import array_of, memory_of
from .measures import AllFigures, Figures, Measures, arrived_figures, figures_of

_NONE: tuple[int, int, Any] = (-1, -1, None)
"""Used for a missing ``.grad``: its number and memory, and its shape and dtype."""


class Nodes(Observer):
    """Fills the measures of a pass's snapshot, and sends ``accumulate``."""

    def prepare(self, run: Run, walked: Walked) -> None:
        """Prepare for a pass over these nodes."""
        whole = self.watching.sink.figures.takes_all(run.number)
        saved, thread = walked.saved_once, self.watching.thread()
        run.measures = Measures(walked.snapshot, walked.order, saved, thread, whole=whole)

    # These two are called most often of all, and guard themselves: on a thread that is not watched there is no run.
    def node_began(self, node: Node, grads: list[Any]) -> None:
        """Note that a node is about to run."""
        runs = self.watching.here.runs
        if runs and runs[-1].measures is not None:
            try:
                quietly(runs[-1].measures.begins, (node, grads))
            except BaseException as failure:  # never the program's business
                report_problem(self.watching, failure)

    def node_ended(self, node: Node, grads: list[Any], results: Any) -> None:
        """Note that it has run."""
        now = perf_counter_ns()
        runs = self.watching.here.runs
        if runs and runs[-1].measures is not None:
            try:
                quietly(runs[-1].measures.ends, (results, now))
            except BaseException as failure:  # never the program's business
                report_problem(self.watching, failure)

    def swept(self, node: Node, grads: list[Any], results: Any, began: int, ended: int) -> None:
        """Note that a node of a sweep has run."""
        runs = self.watching.local.state.runs
        measures = runs[-1].measures if runs else None
        if measures is not None:
            try:
                measures.swept(node, grads, results, began, ended)
            except BaseException as failure:  # never the program's business
                report_problem(self.watching, failure)

    @guarded
    def sweep_failed(self, node: Node, grads: list[Any]) -> None:
        """Note that a node of a sweep raised."""
        run = self.watching.run
        if run is not None and run.measures is not None:
            run.measures.failed(node, grads)

    @guarded
    def accumulating(self, leaf: TensorBase) -> None:
        """Note that a gradient is about to be added to a leaf's."""
        have = None if leaf._meta is None else leaf._meta.grad
        here = self.watching.here
        here.before = "none" if have is None else "kept" if any_nonzero(array_of(have)) else "zero"

    @guarded
    def filled(self, leaves: list[tuple[Node, Any, int, int]]) -> None:
        """Note that a sweep stored the first gradients of leaves."""
        watching, run = self.watching, self.watching.run
        sink, before = watching.sink, watching.here.before
        reserve, belongs, note = sink.tensors.reserve, watching.gradients.belongs, sink.note
        if run is None or run.measures is None:
            figures = [figures_of(array, whole=True) for _, array, _, _ in leaves]
        else:
            figures = run.measures.took(leaves)
        place, line = (None, None) if run is None else (run.number, run.line)
        tensors = [accumulator.variable for accumulator, _, _, _ in leaves]
        numbers = sink.tensors.numbers(tensors)
        for (_, array, _, _), leaf, known, found in zip(leaves, tensors, numbers, figures, strict=True):
            number = watching.enter(leaf, None, "") if known is None else known
            held, gradient, written = leaf._meta.grad, _NONE, leaf._meta.storage
            if held is not None:  # another thread may have cleared it
                memory = held._array
                held_number, storage = reserve(held, memory if memory.base is None else memory_of(memory))
                belongs(held_number, storage, array.size, number)
                gradient = (held_number, storage, held._sig)
            written = 0 if written is None else written.version  # as ``version``
            worst = None if found.__class__ is float else _worst(array, found)
            note((_event_of_gradient, line, *gradient, number, before, written, place, found, array.size, worst))
        self._keep_filled(run, tensors)

    @guarded
    def accumulated(self, leaf: TensorBase, grad: Any) -> None:
        """Note that the gradient was added."""
        watching, array = self.watching, array_of(grad) if isinstance(grad, TensorBase) else grad
        number = watching.number(leaf)
        held = None if leaf._meta is None else leaf._meta.grad
        gradient = _NONE if held is None else self._held(held)
        if held is not None:
            watching.has_gradient(number, held, gradient[0])
        quietly(self._note_added, (watching.run, leaf, gradient, number, array))
        watching.here.before = "none"

    def _held(self, gradient: TensorBase) -> tuple[int, int, Any]:
        """Return what a note says of a leaf's ``.grad``; for a new tensor the note fills in its facts."""
        tensors = self.watching.sink.tensors
        if gradient._meta is None and gradient._fn is None and tensors.known(gradient) is None:
            memory = gradient._array
            return *tensors.reserve(gradient, memory if memory.base is None else memory_of(memory)), gradient._sig
        return self.watching.number(gradient), -1, None

    def _note_added(
        self, run: Run | None, leaf: TensorBase, gradient: tuple[int, int, Any], number: int, array: Any
    ) -> None:
        """Note that a gradient was added to a leaf's."""
        measures = None if run is None else run.measures
        figures = figures_of(array, whole=True) if measures is None else measures.figures(array)
        place, line = (None, None) if run is None else (run.number, run.line)
        before, worst = self.watching.here.before, _worst(array, figures)
        facts = (number, before, version(leaf), place, figures, array.size, worst)
        self.watching.sink.note((_event_of_gradient, line, *gradient, *facts))
        self._keep_filled(run, [leaf])

    def _keep_filled(self, run: Run | None, leaves: list[TensorBase]) -> None:
        """Remember leaves that got a gradient; ranks report their norms at the end of a pass."""
        sink = self.watching.sink
        if run is not None and sink.among_ranks():
            filled = self.watching.here.runs[0].filled
            for number, leaf in zip(sink.tensors.numbers(leaves), leaves, strict=True):
                assert number is not None
                filled[number] = Reference(leaf)


def _worst(array: Any, found: Figures | None) -> Values | None:
    """Return the summary of a gradient with these statistics, if it has non-finite entries."""
    bad = found.__class__ is AllFigures and (found.arrived[5] or found.arrived[6])
    return values.summary(array) if bad else None


class _Accumulated(NamedTuple):
    """A gradient that was added to a leaf's; as a plain tuple it is a note."""

    make: Maker
    line: SourceLine | None
    held: int
    """Number of the leaf's ``.grad``; -1 for none."""
    storage: int
    """Number of its memory, and its shape and dtype, if its facts are to be filled in."""
    fresh: Any
    tensor: int
    before: str
    version: int
    run: int | None
    figures: Figures | None
    size: int
    summary: Values | None
    """For a gradient with non-finite entries."""

    def data(self) -> dict[str, Any]:
        """Return the data of the event."""
        norm, low, high, _, zero, *_ = (None,) * 7 if self.figures is None else arrived_figures(self.figures)
        zeros = None if zero is None else round(zero * self.size)
        arrived = Arrived(self.size, norm, zeros, low, high)
        return accumulation(self.tensor, self.before, self.version, self.run, arrived, self.summary)


def _name_of_gradient(leaf: str) -> str:
    """Return the name of a leaf's ``.grad``."""
    return f"{leaf}.grad" if leaf else ""


def _event_of_gradient(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of a gradient that arrived; a ``Maker``."""
    noted = _Accumulated._make(note)
    name = _name_of_gradient(rows[noted.tensor].name)
    if noted.fresh is not None:
        shape, dtype = shape_and_dtype(noted.fresh)
        rows[noted.held] = TensorFacts(shape, dtype, noted.storage, name=name)
    elif noted.held >= 0 and not rows[noted.held].name:
        rows[noted.held].name = name
    return Event.later("accumulate", "", noted.line, _described, note)


def _described(note: Note) -> dict[str, Any]:
    return _Accumulated._make(note).data()


def kept_norms(filled: dict[int, Reference]) -> dict[str, float]:
    """Return the norms of leaves' ``.grad``, by number."""
    found = {}
    for number, reference in filled.items():
        leaf = reference()
        grad = None if leaf is None or leaf._meta is None else leaf._meta.grad
        figures = None if grad is None else values.gradient_figures(array_of(grad))
        if figures is not None:
            found[str(number)] = figures[0]
    return found


def any_nonzero(array: Any) -> bool:
    """Whether an array has a nonzero entry; mostly the first few decide. An unreadable one may have some."""
    if not values.has_data(array):
        return True
    flat = array.ravel(order="K")
    return bool(flat[:1024].any() or flat.any())

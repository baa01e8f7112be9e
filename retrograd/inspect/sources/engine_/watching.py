"""The state of one watcher of our engine: what it records, where events go, how tensors are named."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from itertools import count
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

from ....engine.aliasing.views import has_history, requires_grad
from ....engine.core.base import TensorBase
from ....engine.overriding.overrides import HERE
from ....engine.switches.state import peek_number
from ...bounded import BoundedDict
from ...graphs.graph import Graph
from ...program.places import SourceLine
from ...program.signals import reraise_from_handler
from ...recording.event_data import LEVELS
from ...recording.events import Event
from ...recording.tensor_facts import TensorFacts
from ...recording.unseen import PROBLEMS
from ...references import Reference
from ..base import Node, Sink
from ..writers.backward import BackwardPass
from ..writers.leaves import Gradients
from .backward.facts import layout_of, memory_of

F = TypeVar("F", bound=Callable[..., None])


ShapeAndDtype = tuple[tuple[int, ...], str]


class Walked(NamedTuple):
    """The snapshot of a graph that is about to run, and its nodes in the same order."""

    snapshot: Graph
    order: list[Node]
    saved_once: list[float | None]
    """Bytes that each node saves, memory of several nodes counted for the first of them."""
    repeated: bool = False
    """Whether its leaves are those of the previous graph."""


class Run:
    """A running backward pass, with the state of ``nodes`` for it."""

    __slots__ = ("backward_pass", "began", "filled", "line", "measures", "number", "place")

    def __init__(self, backward_pass: BackwardPass, place: int) -> None:
        self.backward_pass = backward_pass
        self.number, self.line = backward_pass.number, backward_pass.line
        self.place = place
        """``id`` of the frame in which the engine runs it."""
        self.began = 0.0
        self.measures: Any = None
        self.filled: dict[int, Reference] = {}
        """On ranks: leaves that got a gradient."""


class ThreadState:
    """The state of a watcher for one thread."""

    __slots__ = (
        "before",
        "call_at",
        "elsewhere",
        "forwards",
        "made",
        "modules",
        "plan",
        "quiet",
        "runs",
        "scopes",
        "suppressed",
        "within",
        "words",
    )  # fmt: skip

    def __init__(self, only: int | None) -> None:
        self.forwards = 0
        """Number of running forwards of custom Functions."""
        self.before = "none"
        """State of a leaf's ``.grad`` before the gradient that is being added."""
        self.elsewhere = only is not None and only != get_ident()
        """Whether the thread is not watched."""
        self.quiet = self.elsewhere
        """Whether events are suppressed: on unwatched threads, and in an optimizer, whose updates are one event."""
        self.within = 0
        """Number of running optimizers whose events are suppressed, such as inside another one's step."""
        self.plan: Any = None
        """The plan of the latest operator call, which predicts the next."""
        self.call_at = (0, 0)
        """The latest call of the user, which may run several operators: identity of the frame, and instruction."""
        self.made: list[int] = []
        """Numbers of the results of that call so far."""
        self.suppressed = self.quiet
        """Events are suppressed: in quiet mode, or inside an observer, whose calls are not the program's."""
        self.runs: list[Run] = []
        """Running backward passes, innermost last."""
        self.scopes: list[str] = []
        """Open scopes, of modules and of the user, innermost last."""
        self.modules: list[str] = []
        """Paths of the modules that are running."""
        self.words: list[str] = []
        """For each, its class if it is a layer of ours without layers of its own, else ""."""


class _Local(threading.local):
    """The state of the current thread, as one attribute: reading a thread-local takes as long as five others."""

    def __init__(self, only: int | None) -> None:
        self.state = ThreadState(only)


class Watching:
    """One watcher of the engine."""

    def __init__(self, sink: Sink, thread: int | None, level: str) -> None:
        self.sink = sink
        self.level = level
        self.local = _Local(thread)
        self.begin = peek_number()
        """Sequence number that the recording counts from."""
        self.gradients = Gradients(sink.tensors)
        self._levels = frozenset(LEVELS[: LEVELS.index(level) + 1])
        self._threads: dict[int, int] = {}
        self._new_threads = count()  # two threads that come at once get two numbers

    @property
    def here(self) -> ThreadState:
        """The state of the current thread."""
        return self.local.state

    def thread(self) -> int:
        """A small number for the current thread."""
        me = get_ident()
        known = self._threads.get(me)
        if known is None:
            known = self._threads[me] = next(self._new_threads)
        return known

    def wants(self, level: str) -> bool:
        """Whether events of a level are recorded."""
        return level in self._levels

    @property
    def run(self) -> Run | None:
        """The innermost running backward pass of the current thread."""
        runs = self.local.state.runs
        return runs[-1] if runs else None

    @property
    def run_number(self) -> int | None:
        """Its number."""
        runs = self.local.state.runs
        return runs[-1].number if runs else None

    def send(self, event: Event, snapshot: Any = None) -> int:
        """Send an event to the recording; returns its index."""
        return self.sink(event, snapshot)

    def number(self, t: TensorBase, line: SourceLine | None = None, name: str = "") -> int:
        """Return the number of a tensor; a new one is added with its facts."""
        table = self.sink.tensors
        known = table.known(t)
        if known is not None:
            if name and not table.rows[known].name:
                table.rows[known].name = name
            return known
        return self.enter(t, line, name)

    def numbers(self, tensors: Sequence[TensorBase], line: SourceLine | None = None) -> list[int]:
        """Return the numbers of several tensors, most of which are known."""
        known = self.sink.tensors.numbers(tensors)
        if None not in known:
            return known  # type: ignore[return-value]
        return [self.enter(t, line, "") if n is None else n for t, n in zip(tensors, known, strict=True)]

    def has_gradient(self, leaf: int, gradient: TensorBase, number: int) -> None:
        """Note that a tensor with a number is a leaf's ``.grad``."""
        self.gradients.belongs(number, self.memory(gradient), gradient._array.size, leaf)

    def memory(self, t: TensorBase) -> int | None:
        """Return the number of a known tensor's memory."""
        return self.sink.tensors.memory(memory_of(t._array))

    def describe_again(self, t: TensorBase) -> None:
        """Update the facts of a tensor that got other memory."""
        memory, layout = t._array, None
        if memory.base is not None:
            memory, layout = memory_of(memory), layout_of(memory)
        self.sink.tensors.moved(t, *shape_and_dtype(t._sig), layout, memory)

    def enter(self, t: TensorBase, source: SourceLine | None, name: str) -> int:
        """Number a new tensor."""
        memory, layout = t._array, None
        if memory.base is not None:
            memory = memory_of(memory)
            layout = layout_of(t._array)
        if t._meta is not None:
            return self.sink.tensors.add(t, self._facts(t, source, name, layout), memory=memory)
        sig, recorded = t._sig, t._fn is not None  # most are nothing but results
        shape, dtype = shape_and_dtype(sig)
        facts = TensorFacts(shape, dtype, None, recorded, not recorded, name, source=source, layout=layout)
        return self.sink.tensors.add(t, facts, memory=memory)

    def _facts(
        self, t: TensorBase, source: SourceLine | None, name: str, layout: tuple[int, ...] | None
    ) -> TensorFacts:
        """Return the facts about a tensor seen for the first time."""
        meta, sig = t._meta, t._sig
        assert meta is not None
        shape, dtype = shape_and_dtype(sig)
        return TensorFacts(
            shape=shape,
            dtype=dtype,
            requires_grad=requires_grad(t),
            leaf=not has_history(t),
            name=name,
            parameter=meta.is_parameter,
            view_of=None if meta.view is None else self.sink.tensors.known(meta.view.base),
            source=source,
            layout=layout,
        )


_shapes: BoundedDict[Any, ShapeAndDtype] = BoundedDict(10_000)
"""Shape and dtype name by the engine's own pair of both."""


def shape_and_dtype(sig: Any) -> ShapeAndDtype:
    """Return shape and dtype name for the engine's own pair of both."""
    return _shapes.get(sig) or _shape_of(sig)


def _shape_of(sig: Any) -> ShapeAndDtype:
    """Return the same for a new pair."""
    found = _shapes[sig] = (tuple(sig.shape), sig.dtype.name)
    return found


def version(t: TensorBase) -> int:
    """Return the version counter of a tensor's memory, without creating one."""
    meta = t._meta
    return 0 if meta is None or meta.storage is None else meta.storage.version


class Observer:
    """Base of the observers of one watcher."""

    def __init__(self, watching: Watching) -> None:
        self.watching = watching

    def close(self) -> None:
        """No more events follow."""


def guarded(method: F) -> F:
    """Run an observer's method only on watched threads, unobserved, and keep its failures from the program.

    Its reads of tensors do not call ``__torch_function__``.
    """

    @functools.wraps(method)
    def call(self: Observer, *args: Any) -> None:
        here = self.watching.local.state
        if here.suppressed:
            return
        overriding = HERE
        before = overriding.all_off
        here.suppressed = overriding.all_off = True
        try:
            method(self, *args)
        except BaseException as failure:  # never the program's business
            report_problem(self.watching, failure)
        finally:
            here.suppressed, overriding.all_off = here.quiet, before

    return call  # type: ignore[return-value]


def report_problem(watching: Watching, failure: BaseException) -> None:
    """Record that something could not be recorded; raises errors that concern the program."""
    try:
        watching.sink.tensors.fill()
    except Exception as another:  # a broken sink must not break the program
        reraise_from_handler(another)
    if not isinstance(failure, Exception):  # Ctrl-C
        raise failure
    reraise_from_handler(failure)
    try:
        data = {"problem": f"{type(failure).__name__}: {failure}", "type": type(failure).__name__}
        watching.send(Event("problem", data=data))
        watching.sink.missed(PROBLEMS, data["problem"])
    except Exception as another:
        reraise_from_handler(another)

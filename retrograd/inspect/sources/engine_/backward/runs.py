"""Observes backward runs: what was asked for, the graph it runs over, and how it ended."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from .....engine.tensors.base import TensorBase
from ....events import Event
from ....program.frames import source_line, user_frame
from ....program.signals import let_pass
from ....snapshot import GraphSnapshot, SourceLine
from ...base import Node
from ...naming import name_leaves
from ..watching import Observer, Run, Walked, Watching, guarded
from .nodes import kept_norms

TakeSnapshot = Callable[[list[Any], FrameType | None], Walked]


class _Call:
    """One call of ``backward`` or ``grad``."""

    __slots__ = ("data", "event", "retains", "weights")

    def __init__(self, data: dict[str, Any], weights: list[int]) -> None:
        self.data, self.weights = data, weights
        self.event: Event | None = None
        """The event of its run, once it runs."""
        self.retains = bool(data.get("create_graph"))


def _under_way(runs: list[Run], inner: FrameType) -> list[Run]:
    """Those that go on around a frame; what a program broke off, by Ctrl-C, may not have been heard of to end."""
    around: set[int] = set()
    frame = inner.f_back
    while frame is not None:
        around.add(id(frame))
        frame = frame.f_back
    return [run for run in runs if run.place in around]


class Runs(Observer):
    """Sends ``backward`` and ``backward-end``, also for calls that were refused."""

    def __init__(self, watching: Watching, take_snapshot: TakeSnapshot) -> None:
        super().__init__(watching)
        self._take_snapshot = take_snapshot
        self._calls = _Calls()
        self._unnamed = True
        """Nobody has looked yet what leaves are called that no graph holds: once, for all rows are made for that."""
        self.prepare: Callable[[Run, Walked], None] | None = None
        """Called with a run and its graph before it starts."""
        self.look: Callable[[FrameType | None], None] | None = None
        """Called before a run is sent, to send what happened before it."""

    @guarded
    def backward_called(self, api: str, outputs: Any, given: Any, inputs: Any, retain: Any, create: Any) -> None:
        """Note what was asked for; it is sent when the run begins, or was refused."""
        data: dict[str, Any] = {"api": api, "retain_graph": bool(retain), "create_graph": bool(create)}
        data["gradients_given"] = given is not None and any(g is not None for g in _listed(given))
        roots = [t for t in _listed(outputs) if isinstance(t, TensorBase)]
        if self.watching.wants("full"):
            data["roots"] = self._numbers(roots)
            data["inputs"] = [] if inputs is None else self._numbers(inputs)
        data["root_shapes"] = [list(t._sig.shape) for t in roots]
        self._calls.stack.append(_Call(data, self._weights(given) if create else []))

    def _numbers(self, value: Any) -> list[int]:
        """Return the numbers of the tensors among what was given as one or several."""
        tensors = [t for t in _listed(value) if isinstance(t, TensorBase)]
        found: Any = self.watching.sink.tensors.numbers(tensors)
        if None in found:
            line = source_line(user_frame(sys._getframe(2)))
            found = [self.watching.number(t, line) for t in tensors]
        return found  # type: ignore[no-any-return]

    def _weights(self, given: Any) -> list[int]:
        """Return the numbers of given gradients that have a history, or begin one."""
        if not self.watching.wants("full"):
            return []
        return [self.watching.number(g) for g in _listed(given) if isinstance(g, TensorBase) and g.requires_grad]

    @guarded
    def backward_began(self, roots: list[tuple[Node, int]]) -> None:
        """Report a run and its graph; a run inside a run has none of its own."""
        watching = self.watching
        frame = user_frame(sys._getframe(1))
        engine = sys._getframe(3)  # around this method, its guard and ``notify``
        run = Run(watching.sink.begin_run(), source_line(frame), id(engine))
        event = Event("backward", source=run.line, data={"run": run.number})
        call = self._calls.stack[-1] if self._calls.stack else None
        if call is not None:
            event.data |= call.data
            call.event = event
        event.data["thread"] = watching.thread()
        snapshot = None
        if watching.here.runs:
            watching.here.runs = _under_way(watching.here.runs, engine)
        if watching.here.runs:
            event.data["nested"] = True
        else:
            try:
                snapshot = self._graph(run, roots, frame)
            except Exception as failure:
                let_pass(failure)
                event.data["problem"] = f"{type(failure).__name__}: {failure}"
        if self.look is not None:
            self.look(frame)
        watching.here.runs.append(run)
        watching.send(event, snapshot)
        run.began = time.perf_counter()

    def _graph(self, run: Run, roots: list[tuple[Node, int]], frame: FrameType | None) -> GraphSnapshot:
        walked = self._take_snapshot([node for node, _ in roots], frame)
        snapshot = walked.snapshot
        snapshot.first_seq -= self.watching.begin
        if self._unnamed and self.watching.wants("full"):
            self._unnamed = False
            name_leaves(self.watching.sink.tensors, frame, TensorBase)
        if self.watching.wants("backward") and not walked.repeated:
            self._name_leaves(snapshot, walked.order)
        if self.prepare is not None:
            self.prepare(run, walked)
        return snapshot

    def _name_leaves(self, snapshot: GraphSnapshot, order: list[Node]) -> None:
        """Give leaves the names that they have in the graph, which are those of the whole program."""
        for kind, name, node in zip(snapshot.kind, snapshot.name, order, strict=True):
            if kind == "leaf" and name is not None:
                self.watching.number(node.variable)
                parameter = node.variable._meta is not None and node.variable._meta.is_parameter
                self.watching.sink.tensors.name(node.variable, name, parameter=parameter)

    @guarded
    def backward_ended(self, error: BaseException | None) -> None:
        """Report how a run ended."""
        runs = self.watching.here.runs
        if not runs:
            return
        run = runs.pop()
        data: dict[str, Any] = {"run": run.number}
        if self.watching.wants("backward"):
            data["seconds"] = time.perf_counter() - run.began
        if error is not None:
            data |= _described(error)
        if run.measures is not None:
            data |= run.measures.finish(self.watching.begin, failed=error is not None)
            run.measures = None
        if run.filled:
            data["kept_norms"] = kept_norms(run.filled)
        self.watching.send(Event("backward-end", source=run.line, data=data))

    @guarded
    def backward_left(self, results: list[Any] | None, error: BaseException | None) -> None:
        """A call is over: one that never came to run is reported now, and gradients without a graph are cuts."""
        if not self._calls.stack:
            return
        call = self._calls.stack.pop()
        if error is not None:
            self._failed(call, error, source_line(user_frame(sys._getframe(1))))
        elif results is not None and self.watching.wants("full"):
            line = source_line(user_frame(sys._getframe(1)))
            self._note_results(call, [g for g in results if isinstance(g, TensorBase)], line)

    def _failed(self, call: _Call, error: BaseException, line: SourceLine | None) -> None:
        """Report a call that was refused, or say of its run that it failed."""
        if call.event is None:
            run = {"run": self.watching.sink.begin_run()}
            self.watching.send(Event("backward", source=line, data=run | call.data | _described(error)))
            self.watching.send(Event("backward-end", source=line, data=run | _described(error)))
        else:
            call.event.data |= _described(error)
        self.watching.sink.explain(error, line)

    def _note_results(self, call: _Call, results: list[Any], line: Any) -> None:
        """Say where the gradients that ``grad`` returned come from."""
        watching = self.watching
        made = [g for g in results if watching.sink.tensors.known(g) is None]
        numbers = [watching.number(g, line) for g in results]
        inputs = [*call.data.get("inputs", []), *call.weights]
        data = {"inputs": inputs, "outputs": numbers, "grad": call.retains}
        kind = "operation" if call.retains else "cut"
        if kind == "cut":
            data["reason"] = "create_graph"
        row = watching.send(Event(kind, "grad", line, data))
        for g in made:
            watching.sink.tensors[watching.number(g)].made_by = row


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[_Call] = []


def _listed(value: Any) -> list[Any]:
    """What was given as one or several; an iterator is left alone, for it can be read only once."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _described(error: BaseException) -> dict[str, str]:
    try:
        text = str(error)
    except Exception as failure:
        let_pass(failure)
        text = ""
    return {"error": f"{type(error).__name__}: {text}", "error_type": type(error).__name__}

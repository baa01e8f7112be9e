"""Observes backward passes: their arguments, the graph they traverse, and how each ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from .....engine.core.base import TensorBase
from .....interpreter import getframe
from ....graphs.graph import Graph
from ....program.frames import source_line, user_frame
from ....program.places import SourceLine
from ....program.signals import reraise_from_handler
from ...base import Node
from ...naming import name_leaves
from ...writers.backward import Asked, BackwardPass
from ..watching import Observer, Run, Walked, Watching, guarded
from .nodes import kept_norms

TakeSnapshot = Callable[[list[Any], FrameType | None], Walked]


def _running_around(runs: list[Run], inner: FrameType) -> list[Run]:
    """Return the passes running around a frame; one that was interrupted by Ctrl-C may have no recorded end."""
    around: set[int] = set()
    frame = inner.f_back
    while frame is not None:
        around.add(id(frame))
        frame = frame.f_back
    return [run for run in runs if run.place in around]


class Runs(Observer):
    """Sends ``backward`` and ``backward-end``, also for calls that were rejected."""

    def __init__(self, watching: Watching, take_snapshot: TakeSnapshot) -> None:
        super().__init__(watching)
        self._take_snapshot = take_snapshot
        self._calls = _Calls()
        self._unnamed = True
        """Whether names of leaves outside all graphs have yet to be searched for, once."""
        self.prepare: Callable[[Run, Walked], None] | None = None
        """Called with a pass and its graph before it starts."""
        self.look: Callable[[FrameType | None], None] | None = None
        """Called before a pass is sent, to send earlier events first."""

    @guarded
    def backward_called(self, api: str, outputs: Any, given: Any, inputs: Any, retain: Any, create: Any) -> None:
        """Note the arguments of a call; they are sent when the pass begins or was rejected."""
        roots = _tensors(outputs)
        several = given is not None and any(root.numel() != 1 for root in roots)
        weights = [g for g in _tensors(given) if g.requires_grad] if create else []
        asked = Asked(api, roots, _tensors(inputs), weights, several, bool(retain), bool(create))
        self._calls.stack.append(self._pass_of(asked, source_line(user_frame(getframe(1)))))

    def _pass_of(self, asked: Asked, line: SourceLine | None) -> BackwardPass:
        return BackwardPass(self.watching, asked, self.watching.sink.begin_run(), self.watching.thread(), line)

    @guarded
    def backward_began(self, roots: list[tuple[Node, int]]) -> None:
        """Send a pass and its graph; a nested pass has none."""
        watching, here = self.watching, self.watching.here
        frame, engine = user_frame(getframe(1)), getframe(3)  # around this, its guard and ``notify``
        current = self._calls.stack[-1] if self._calls.stack else self._pass_of(_NOTHING, None)
        event = current.begins(source_line(frame))
        run, snapshot = Run(current, id(engine)), None
        here.runs = _running_around(here.runs, engine)
        if here.runs:
            event.data["nested"] = True
        else:
            try:
                snapshot = self._graph(run, roots, frame)
            except Exception as failure:
                reraise_from_handler(failure)
                event.data["problem"] = f"{type(failure).__name__}: {failure}"
        if self.look is not None:
            self.look(frame)
        here.runs.append(run)
        watching.send(event, snapshot)
        run.began = time.perf_counter()

    def _graph(self, run: Run, roots: list[tuple[Node, int]], frame: FrameType | None) -> Graph:
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

    def _name_leaves(self, snapshot: Graph, order: list[Node]) -> None:
        """Name leaves as in the graph, which are the names of the whole program."""
        for kind, name, node in zip(snapshot.kind, snapshot.name, order, strict=True):
            if kind == "leaf" and name is not None:
                self.watching.number(node.variable)
                parameter = node.variable._meta is not None and node.variable._meta.is_parameter
                self.watching.sink.tensors.name(node.variable, name, parameter=parameter)

    @guarded
    def backward_ended(self, error: BaseException | None) -> None:
        """Send how a pass ended."""
        runs = self.watching.here.runs
        if not runs:
            return
        run = runs.pop()
        measured: dict[str, Any] = {}
        if self.watching.wants("backward"):
            measured["seconds"] = time.perf_counter() - run.began
        if run.measures is not None:
            measured |= run.measures.finish(self.watching.begin, failed=error is not None)
            run.measures = None
        if run.filled:
            measured["kept_norms"] = kept_norms(run.filled)
        run.backward_pass.ended(run.line, error, measured)

    @guarded
    def backward_left(self, results: list[Any] | None, error: BaseException | None) -> None:
        """Handle the end of a call: one that never ran is sent now, and gradients without a graph are cuts."""
        if not self._calls.stack:
            return
        current, line = self._calls.stack.pop(), source_line(user_frame(getframe(1)))
        if error is not None:
            current.failed(line, error)
            self.watching.sink.explain(error, line)
        elif results is not None:
            current.returned(_tensors(results), line)


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[BackwardPass] = []


_NOTHING = Asked("backward", (), (), (), gradients_given=False, retain_graph=False, create_graph=False)
"""Arguments of a call that began before the recording."""


def _tensors(value: Any) -> list[Any]:
    """Return the tensors in an argument, one or several; an iterator is not read, since that works only once."""
    if isinstance(value, dict):
        value = list(value.values())
    return [one for one in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(one, TensorBase)]

"""The observer that measures operators, nodes of backward and named parts of a program."""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any

from .events import EventList, FunctionEvent, Interval, linked

_BACKWARD = "autograd::engine::evaluate_function: "


class _Thread(threading.local):
    """What is running on one thread, with the time when it began."""

    def __init__(self) -> None:
        self.open: list[tuple[str, int]] = []


class Recorder:
    """Measures from when it is put among the observers until it is taken out; its clock is ``perf_counter``."""

    def __init__(self, *, record_shapes: bool) -> None:
        self.record_shapes = record_shapes
        self.events: list[FunctionEvent] = []
        self.here = _Thread()
        self.forward_threads: dict[int, int] = {}
        """Number of a node -> thread that recorded it."""

    def result(self) -> EventList:
        """Everything that has ended."""
        return linked(self.events)

    def _add(self, name: str, began: int, ended: int, **more: Any) -> None:
        span = Interval(began / 1000, ended / 1000)
        self.events.append(FunctionEvent(len(self.events), name, threading.get_ident(), span, **more))

    # -- callbacks of the engine
    def operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any, took: int) -> None:
        """An operator ran."""
        now = perf_counter_ns()
        number = -1 if node is None else node._sequence_nr()
        if node is not None:
            self.forward_threads[number] = threading.get_ident()
        self._add(f"aten::{op.name.lstrip('_')}", now - took, now, sequence_nr=number, **self._shapes(inputs))

    def inplace(self, op: Any, args: Any, node: Any, tensor: Any, inputs: Any) -> None:
        """An operator wrote in place."""
        now = perf_counter_ns()
        self._add(f"aten::{op.name.lstrip('_')}_", now, now, **self._shapes(inputs))

    def _shapes(self, inputs: Any) -> dict[str, Any]:
        return {"input_shapes": [list(t.shape) for t in inputs]} if self.record_shapes else {}

    def scope_began(self, name: str) -> None:
        """A stretch that the program named begins."""
        self.here.open.append((name, perf_counter_ns()))

    def scope_ended(self, name: str) -> None:
        """It is over; one that began before the measurement is passed over."""
        if self.here.open and self.here.open[-1][0] == name:
            self._add(name, self.here.open.pop()[1], perf_counter_ns(), is_user_annotation=True)

    def node_began(self, node: Any, grads: Any) -> None:
        """A node of backward begins to run."""
        self.here.open.append((node.name(), perf_counter_ns()))

    def node_ended(self, node: Any, grads: Any, results: Any) -> None:
        """It has run: one event for the engine's part, one for the node's."""
        if not self.here.open or self.here.open[-1][0] != node.name():
            return
        name, began = self.here.open.pop()
        number, ended = node._sequence_nr(), perf_counter_ns()
        thread = self.forward_threads.get(number)
        self._add(_BACKWARD + name, began, ended, sequence_nr=number, fwd_thread=thread)
        self._add(name, began + 1, ended - 1, sequence_nr=number, fwd_thread=thread)

"""What profilers record of operators and nodes, and its sums as a table."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import Any

# Formats sums of events as a table.

_HEADS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")


def table(events: Sequence[Any], total: float, header: str | None, name_width: int) -> str:
    """One line for each event, with its share of ``total`` microseconds, and the total below."""
    shaped = any(event.input_shapes for event in events)
    heads = [*_HEADS, "Input Shapes"] if shaped else [*_HEADS]
    rows = [_row(event, total, name_width, shaped) for event in events]
    widths = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in (heads, *rows)]
    title = [] if header is None else [rule, header]
    return "\n".join([*title, rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {duration(total)}", ""])


def _row(event: Any, total: float, name_width: int, shaped: bool) -> list[str]:
    name = event.key if len(event.key) <= name_width else event.key[: name_width - 3] + "..."
    row = [
        name, _share(event.self_cpu_time_total, total), duration(event.self_cpu_time_total),
        _share(event.cpu_time_total, total), duration(event.cpu_time_total), duration(event.cpu_time), str(event.count),
    ]  # fmt: skip
    return [*row, str(event.input_shapes)] if shaped else row


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "0.00%"


def duration(microseconds: float) -> str:
    """A time with its unit."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


# Measurements: one event for each operator, node or named block, and their sums. All times in microseconds.


@dataclass(frozen=True)
class Interval:
    """When something ran."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long."""
        return self.end - self.start


@dataclass(eq=False)
class FunctionEvent:
    """One operator, node or stretch that ran."""

    id: int
    name: str
    thread: int
    time_range: Interval
    sequence_nr: int = -1
    fwd_thread: int | None = None
    input_shapes: list[Any] = field(default_factory=list)
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    is_user_annotation: bool = False
    count: int = 1
    is_async: bool = False
    is_remote: bool = False
    is_legacy: bool = False
    cpu_memory_usage: int = 0
    stack: list[str] = field(default_factory=list)
    scope: int = 0
    flops: int | None = None

    @property
    def key(self) -> str:
        """What events are summed by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """How long it ran."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The same without what ran inside it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_total:.3f}us "
            f"thread={self.thread} input_shapes={self.input_shapes}>"
        )


@dataclass(eq=False)
class FunctionEventAvg:
    """The sum of events of one name (and, if asked for, of the same input shapes)."""

    key: str = ""
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    input_shapes: list[Any] = field(default_factory=list)
    cpu_children: list[Any] = field(default_factory=list)
    is_user_annotation: bool = False

    @property
    def cpu_time(self) -> float:
        """Average time of one."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, other: Any) -> FunctionEventAvg:
        """Count an event, or another sum, in."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total:.3f}us "
            f"cpu_time={self.cpu_time:.3f}us input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events or their sums, with what is asked of all of them together."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all, without what ran inside others."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Sums by name, in the order in which the names first came."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            key = (event.key, str(shapes))
            if key not in sums:
                named = event.is_user_annotation
                sums[key] = FunctionEventAvg(event.key, input_shapes=shapes, is_user_annotation=named)
            sums[key].add(event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, sorted by one of their times (``AttributeError`` for a name they have not)."""
        events = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            events.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        shown = events[: row_limit if row_limit >= 0 else None]
        return table(shown, self.self_cpu_time_total, header, max_name_column_width)

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that chrome://tracing and Perfetto open."""
        Path(path).write_text(json.dumps([_trace_entry(event) for event in self]), encoding="utf-8")


def _trace_entry(event: FunctionEvent) -> dict[str, Any]:
    return {
        "name": event.name, "ph": "X", "ts": event.time_range.start, "dur": event.cpu_time_total,
        "tid": event.thread, "pid": "CPU functions", "args": {},
    }  # fmt: skip


def linked(events: Iterable[FunctionEvent]) -> EventList:
    """The events in order of their start, each under the innermost one of its thread that was running."""
    ordered = sorted(events, key=lambda e: (e.thread, e.time_range.start, -e.time_range.end))
    running: list[FunctionEvent] = []
    for event in ordered:
        while running and (running[-1].thread != event.thread or running[-1].time_range.end < event.time_range.end):
            running.pop()
        if running:
            event.cpu_parent = running[-1]
            running[-1].cpu_children.append(event)
        running.append(event)
    return EventList(sorted(ordered, key=lambda e: (e.time_range.start, -e.time_range.end)))


# The observer that measures operators, nodes of backward and named parts of a program.

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

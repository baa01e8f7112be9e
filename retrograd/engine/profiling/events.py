"""Measurements: one event for each operator, node or named block, and their sums. All times in microseconds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .table import table


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

"""Calls of two stretches of a program that should do the same: which belong together, and what each gave."""

from __future__ import annotations

from ...events import Event
from .flow import Flow


def calls_between(flow: Flow, begin: int, end: int) -> list[Event]:
    """Return the calls between two rows whose lines are known."""
    return [event for event in flow.events[begin:end] if event.kind in ("operation", "cut", "inplace") and event.source]


def same_call(one: Event, other: Event) -> bool:
    """Whether two calls are of one operator and one line."""
    return (one.op, one.source) == (other.op, other.source)


def same_shapes(flow: Flow, one: Event, other: Event) -> bool:
    """Whether two calls gave results of the same shapes."""
    return result_shapes(flow, one) == result_shapes(flow, other)


def result_shapes(flow: Flow, event: Event) -> list[tuple[int, ...]]:
    """Return the shapes of what a call gave."""
    return [flow.facts(tensor).shape for tensor in event.data.get("outputs", ())]


def call_text(event: Event) -> str:
    """Return a call in short, with the name of its first result that has one: ``y = dropout(...)``."""
    name = next(filter(None, event.data.get("output_names") or ()), "")
    return f"{name} = {event.op}(...)" if name else f"{event.op}(...)"

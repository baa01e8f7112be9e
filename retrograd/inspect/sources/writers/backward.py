"""Writes events of backward passes: their arguments, how each ended, and the gradients that arrived in leaves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...program.places import SourceLine
from ...program.signals import reraise_from_handler
from ...recording.event_data import Values
from ...recording.events import Event
from ..base import Watch


class Asked(NamedTuple):
    """Arguments of a call of ``backward`` or ``grad``."""

    api: str
    """``"backward"`` or ``"grad"``."""
    roots: Sequence[Any]
    inputs: Sequence[Any]
    weights: Sequence[Any]
    """Given gradients that have a history, or begin one, if the results have one, too."""
    gradients_given: bool
    retain_graph: bool
    create_graph: bool


class BackwardPass:
    """One call of ``backward`` or ``grad``, in one recording; holds none of the program's tensors."""

    def __init__(self, watch: Watch, asked: Asked, number: int, thread: int, line: SourceLine | None) -> None:
        """``number`` is the number of the pass."""
        self.watch, self.line, self.number = watch, line, number
        self._api, self._retains = asked.api, asked.create_graph
        self._sources: list[int] = []
        """Tensors from which results of ``grad`` were computed."""
        self._last: Event | None = None
        self.data: dict[str, Any] = {
            "run": number,
            "api": asked.api,
            "retain_graph": asked.retain_graph,
            "create_graph": asked.create_graph,
            "gradients_given": asked.gradients_given,
            "root_shapes": [list(map(int, getattr(root, "shape", ()))) for root in asked.roots],
            "thread": thread,
        }
        if watch.level == "full":
            self.data["roots"] = watch.numbers(asked.roots, line)
            self.data["inputs"] = watch.numbers(asked.inputs, line)
            self._sources = [*self.data["inputs"], *watch.numbers(asked.weights, line)]

    def begins(self, line: SourceLine | None) -> Event:
        """Return the event of its start, which is to be sent."""
        self.line, self._last = line, Event("backward", source=line, data=self.data)
        return self._last

    def ended(
        self, line: SourceLine | None, error: BaseException | None, measured: dict[str, Any], *, refused: bool = False
    ) -> None:
        """Send the event of its end, or that it was ``refused`` before anything ran."""
        if "seconds" in measured:
            measured = {**measured, "began": round(time.perf_counter() - measured["seconds"], 6)}
        raised = {} if error is None else described(error)
        if refused and self._last is not None:
            self._last.data |= raised
        self._last = Event("backward-end", source=line, data={"run": self.number, **measured, **raised})
        self.watch.sink(self._last)

    def failed(self, line: SourceLine | None, error: BaseException) -> None:
        """Send that the call raised: it was rejected, or failed a check after its pass."""
        if self._last is None:
            self.watch.sink(self.begins(line))
            self.ended(line, error, {}, refused=True)
        else:
            self._last.data |= described(error)

    def returned(self, gradients: Sequence[Any], line: SourceLine | None) -> None:
        """Send the origins of the gradients that ``grad`` returned; without ``create_graph`` they are cut off."""
        if self._api != "grad" or self.watch.level != "full":
            return
        table = self.watch.sink.tensors
        outputs = self.watch.numbers(gradients, line)
        data: dict[str, Any] = {"inputs": self._sources, "outputs": outputs, "grad": self._retains}
        if not self._retains:
            data["reason"] = "create_graph"
        row = self.watch.sink(Event("operation" if self._retains else "cut", "grad", line, data))
        for number in outputs:
            if table[number].made_by is None:
                table[number].made_by = row


def described(error: BaseException) -> dict[str, str]:
    """Return the text of an exception."""
    try:
        text = str(error)
    except Exception as failure:
        reraise_from_handler(failure)
        text = ""
    return {"error": f"{type(error).__name__}: {text}", "error_type": type(error).__name__}


class Arrived(NamedTuple):
    """A gradient that arrived in a leaf."""

    size: int
    norm: float | None
    """None if nothing was read."""
    zeros: int | None
    """None if only the norm was computed; ``low`` and ``high`` are the ends of its range."""
    low: float | None
    high: float | None


def accumulation(
    leaf: int, before: str, version: int, run: int | None, arrived: Arrived, summary: Values | None
) -> dict[str, Any]:
    """Return the data of a gradient that arrived in a leaf; ``summary`` is for one with non-finite entries."""
    data: dict[str, Any] = {"tensor": leaf, "version": version}
    if before:
        data["before"] = before
    if run is not None:
        data["run"] = run
    if arrived.norm is not None:
        data["grad_norm"] = arrived.norm
        data["grad"] = {"size": arrived.size, "nan": 0, "inf": 0}
        if arrived.zeros is not None:
            data["grad"] |= {"zero": arrived.zeros, "min": arrived.low, "max": arrived.high}
    if summary is not None:
        data["grad"] = summary
    return data

"""The facts of one operator call, as recorded; the data of its event is computed from them on first access."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...event_data import Stack

Measured = tuple[tuple[float, float] | None, float | None]
"""Range and sum of a result."""


Surroundings = tuple[bool, bool, str, int | None]
"""What was in force when a call was made: grad mode, inference mode, scope, backward run."""


def around(surroundings: Surroundings) -> dict[str, Any]:
    """Surroundings as events say them."""
    grad, inference, scope, run = surroundings
    data: dict[str, Any] = {"grad": grad}
    if inference:
        data["inference"] = True
    if scope:
        data["scope"] = scope
    if run is not None:
        data["run"] = run
    return data


class CallFacts(NamedTuple):
    """One call of an operator."""

    around: Surroundings
    inputs: tuple[int, ...]
    names: tuple[str, ...]
    outputs: tuple[int, ...]
    output_names: tuple[str, ...]
    measured: tuple[Measured, ...]
    """Of each result."""
    took: int
    """Nanoseconds."""
    node: int | None
    """Number of its node, counted from the beginning of the recording."""
    saves: tuple[int, ...]
    stack: list[Stack] | None
    """The user's frames, where they are worth knowing."""
    more: dict[str, Any] | None
    """What few calls have."""

    def data(self) -> dict[str, Any]:
        """The data of the event."""
        data: dict[str, Any] = {"inputs": list(self.inputs), "names": list(self.names), **around(self.around)}
        data["outputs"], data["output_names"] = list(self.outputs), list(self.output_names)
        data["range"] = [None if limits is None else list(limits) for limits, _ in self.measured]
        data["checksum"] = [total for _, total in self.measured]
        data["time_us"] = self.took / 1e3
        if self.node is not None:
            data["nodes"], data["saves"] = [self.node, self.node + 1], list(self.saves)
        if self.stack is not None:
            data["stack"] = self.stack
        return data | self.more if self.more else data


def described(facts: tuple[Any, ...]) -> dict[str, Any]:
    """The data of the event of a call with these parts of ``CallFacts``."""
    return CallFacts._make(facts).data()

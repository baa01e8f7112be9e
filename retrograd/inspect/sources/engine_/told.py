"""A call as it was seen. The data of its event are made of this when somebody first reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

Measured = tuple[list[float] | None, float | None]
"""Range and sum of a result."""


class Surroundings(NamedTuple):
    """What was in force when a call was made."""

    grad: bool
    inference: bool
    scope: str
    run: int | None

    def data(self) -> dict[str, Any]:
        """As events say it."""
        data: dict[str, Any] = {"grad": self.grad}
        if self.inference:
            data["inference"] = True
        if self.scope:
            data["scope"] = self.scope
        if self.run is not None:
            data["run"] = self.run
        return data


class Told(NamedTuple):
    """One call of an operator."""

    around: Surroundings
    inputs: list[int]
    names: list[str]
    outputs: list[int]
    output_names: list[str]
    measured: list[Measured]
    """Of each result."""
    took: int
    """Nanoseconds."""
    node: int | None
    """Number of its node, counted from the beginning of the recording."""
    saves: list[int]
    more: dict[str, Any]
    """What few calls have."""

    def data(self) -> dict[str, Any]:
        """The data of the event."""
        data: dict[str, Any] = {"inputs": self.inputs, "names": self.names, **self.around.data()}
        data["outputs"], data["output_names"] = self.outputs, self.output_names
        data["range"] = [limits for limits, _ in self.measured]
        data["checksum"] = [total for _, total in self.measured]
        data["time_us"] = self.took / 1e3
        if self.node is not None:
            data["nodes"], data["saves"] = [self.node, self.node + 1], self.saves
        return data | self.more

"""``--color-by``: selects the measure that colours the boxes, and maps its values to a colour scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ...errors import UsageError
from ..graphs.graph import Graph
from ..recording.event_data import LEVELS
from ..recording.event_data import MEASURES as RECORDED
from .labels import bytes_text, time_text
from .theme import HEATS

MEASURES = {
    "time": ("time_us",),
    "grad-norm": ("grad_norm",),
    "saved-bytes": ("saved_bytes",),
    "nonfinite": ("nan_count", "inf_count"),
    "zero-share": ("zero_share",),
}
"""Measures by the name that ``--color-by`` takes, and the columns that they add up."""
_SHORTENED = {parts[0] for parts in MEASURES.values() if len(parts) == 1}
"""Columns that messages list by their short names."""
_TITLES = {
    "time_us": "time in backward",
    "grad_norm": "norm of the gradient",
    "saved_bytes": "saved for backward",
    "nonfinite": "NaN and infinite entries",
    "zero_share": "share of zeros in the gradient",
}


@dataclass(slots=True)
class Scale:
    """How ``color_by`` turns values into the steps of the colour scale."""

    name: str = ""
    values: list[float | None] = field(default_factory=list)
    low: float = 0.0
    high: float = 0.0
    logarithmic: bool = False
    launched: bool = False
    """Whether times are those of launching kernels on a device."""

    def css(self, node: int) -> str:
        """Return the colour class of a node: ``heat3``, ``odd`` for NaN and infinity, ``""`` when unknown."""
        value = self.values[node] if self.values else None
        if value is None:
            return ""
        if not math.isfinite(value):
            return "odd"
        low, high, here = (self._bent(number) for number in (self.low, self.high, value))
        share = (here - low) / (high - low) if high > low else 0.0
        return f"heat{min(int(share * HEATS), HEATS - 1)}"

    def bounds(self) -> list[float]:
        """Return the least value of every step; only one if there is one value only, none if there is none."""
        if self.high <= self.low:
            return [self.low] if self.low in self.values else []
        low, high = self._bent(self.low), self._bent(self.high)
        steps = [low + (high - low) * step / HEATS for step in range(HEATS)]
        return [math.exp(step) - 1 if self.logarithmic else step for step in steps]

    @property
    def has_odd(self) -> bool:
        """Whether some value is NaN or infinite."""
        return any(value is not None and not math.isfinite(value) for value in self.values)

    @property
    def title(self) -> str:
        """What the colours say, in words."""
        title = _TITLES.get(self.name, self.name)
        return f"launch {title}" if self.launched and self.name == "time_us" else title

    def text(self, value: float | None) -> str:
        """Return one value with its unit; ``""`` when unknown."""
        if value is None:
            return ""
        if not math.isfinite(value):
            return str(value)
        if self.name.endswith("bytes"):
            return bytes_text(round(value))
        if self.name == "time_us":
            return time_text(value)
        return f"{value:.0%}" if self.name == "zero_share" else f"{value:.3g}"

    def _bent(self, value: float) -> float:
        return math.log1p(value) if self.logarithmic else value


def measure_name(color_by: str) -> str:
    """Return the name of what is added up: that of the column where there is one only (``time`` is ``time_us``)."""
    parts = MEASURES.get(color_by, (color_by,))
    return parts[0] if len(parts) == 1 else color_by


def known_measures(snapshot: Graph) -> list[str]:
    """Return what the nodes of a graph can be coloured by, short names first."""
    saved = {"saved_bytes"} if any(count is not None for count in snapshot.saved_bytes) else set()
    columns = saved | snapshot.measures.keys()
    short = [name for name, parts in MEASURES.items() if columns.issuperset(parts)]
    return short + sorted(columns)


def check_level(color_by: str | None, level: str) -> None:
    """Raise ``UsageError`` for a measure that no recording of this level has, or none at all."""
    if color_by is not None and color_by not in (*MEASURES, "saved_bytes", *RECORDED):
        raise UsageError(f"There is no measure {color_by!r} to colour by.", f"There are: {', '.join(MEASURES)}.")
    if level == LEVELS[0] and color_by in MEASURES and color_by != "saved-bytes":
        raise UsageError(f"Level {level!r} records no measure {color_by!r} to colour by.", "Add --level backward.")


def scale(snapshot: Graph, color_by: str | None, *, launched: bool = False) -> Scale:
    """Return the colour scale for a measure; raises ``UsageError`` for one that the graph does not have."""
    if color_by is None:
        return Scale()
    if color_by not in known_measures(snapshot):
        others = ", ".join(name for name in known_measures(snapshot) if name not in _SHORTENED)
        raise UsageError(
            f"The graph has no measure {color_by!r} to colour by.",
            f"It has: {others or 'none'}. Bytes, times and gradients need --level backward.",
        )
    values = _added(snapshot, MEASURES.get(color_by, (color_by,)))
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return Scale(measure_name(color_by), values, low, high, low >= 0 and high > 100, launched)


def _added(snapshot: Graph, parts: tuple[str, ...]) -> list[float | None]:
    """Return the sum of some columns, ``None`` where one is unknown."""
    columns: dict[str, list[float | None]] = {"saved_bytes": list(snapshot.saved_bytes), **snapshot.measures}
    return [
        None if any(value is None for value in row) else sum(value for value in row if value is not None)
        for row in zip(*(columns[part] for part in parts), strict=True)
    ]

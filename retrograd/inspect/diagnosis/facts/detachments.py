"""``Detachments``: where the history of a tensor was dropped in place, as by ``detach_``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Detachments:
    """Tensor -> rows at which its history was dropped."""

    def __init__(self) -> None:
        self._rows: dict[int, list[int]] = {}

    def note(self, row: int, data: Mapping[str, Any]) -> Sequence[int]:
        """Add the data of a call, and return its results, or for one that drops a history its inputs."""
        given: Sequence[int] = data.get("inputs", ())
        outputs: Sequence[int] = data.get("outputs", ())
        if data.get("reason") != "detach" or len(given) != 1 or list(outputs) not in ([], list(given)):
            return outputs
        self._rows.setdefault(given[0], []).append(row)
        return given

    def before(self, tensor: int, row: int) -> int:
        """Return the last event before a given one at which a tensor lost its history, -1 for none."""
        return max((one for one in self._rows.get(tensor, ()) if one < row), default=-1)

    def after(self, tensor: int, row: int) -> int | None:
        """Return the first row after a given one at which it did."""
        return min((one for one in self._rows.get(tensor, ()) if one > row), default=None)

"""``KeptGraphs``: whether the graphs of all losses are kept, and what in the program keeps them."""

from __future__ import annotations

import weakref
from collections import deque
from types import FrameType
from typing import Any

from ..program.frames import user_frames
from ..program.names import frame_variables, search
from .engines import Engine, nodes_behind

_NEVER = {0}
"""An ``id`` that no object has: a search for it passes by everything."""


class KeptGraphs:
    """Follows the last node of some of the last losses' graphs."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._last: deque[weakref.ref[Any]] = deque(maxlen=most)
        self.name = ""
        """Name of what keeps them, where the graphs of all these losses are there."""

    def add(self, root: Any, frame: FrameType | None) -> None:
        """Follow another loss; find out whether the graphs of all before are kept."""
        if root.grad_fn is None:
            return
        self._last.append(self._engine.witness(root.grad_fn))
        first = self._last[0]()
        if len(self._last) < (self._last.maxlen or 0) or any(one() is None for one in self._last):
            self.name = ""
        elif not self.name and first is not None:
            self.name = self._keeper(first, frame) or "something that the program holds"

    def _keeper(self, witness: Any, frame: FrameType | None) -> str:
        """Return the name of a tensor of the program whose graph has the node of a witness."""
        variables = frame_variables(user_frames(frame))
        tensors: list[Any] = []

        def is_tensor(value: object) -> bool:
            found = self._engine.is_tensor(value)
            if found and getattr(value, "grad_fn", None) is not None:
                tensors.append(value)
            return found

        search(variables, _NEVER, is_tensor)
        for one in tensors:
            if any(self._engine.witness(node)() is witness for node in nodes_behind([one.grad_fn])):
                return search(variables, {id(one)}, self._engine.is_tensor).variables.get(id(one), "")
        return ""

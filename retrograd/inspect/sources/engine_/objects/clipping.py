"""Observes ``clip_grad_norm_`` and ``clip_grad_value_``, also where they find nothing to clip."""

from __future__ import annotations

import sys
from typing import Any

from ....events import Event
from ....program.frames import source_line, user_frame
from ..watching import Observer, guarded


class Clipping(Observer):
    """Sends ``clip``."""

    @guarded
    def clipping(self, function: str, parameters: list[Any], bound: Any) -> None:
        """Gradients are about to be clipped."""
        line = source_line(user_frame(sys._getframe(1)))
        inputs = [self.watching.number(parameter, line) for parameter in parameters]
        data = {"inputs": inputs, "bound": float(bound)}
        if self.watching.run is not None:
            data["run"] = self.watching.run.number
        self.watching.send(Event("clip", function, line, data))

"""Observes ``autocast`` being entered and left."""

from __future__ import annotations

from typing import Any

from .....engine.devices import mixed_precision
from .....interpreter import getframe
from ....program.frames import is_ours, source_line
from ....recording.events import Event
from ...grad_switches import place_of
from ..watching import Observer, guarded


class Autocasts(Observer):
    """Sends ``autocast``."""

    @guarded
    def autocast_switched(self, action: str, device: str, enabled: bool, dtype: str) -> None:
        """From here on calls are made in another dtype, or no longer."""
        place = place_of(getframe(3), (mixed_precision.__file__,), is_ours)
        data: dict[str, Any] = {"action": action, "enabled": enabled, "dtype": dtype, **place.told()}
        self.watching.send(Event("autocast", device, source_line(place.frame), data))

"""Observes ``torch.autocast`` being entered and left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line
from ....recording.events import Event
from ...grad_switches import ENTERED, LEFT, place_of
from ...patches import Patches
from ..calls.calls import is_traced
from ..calls.tensors import dtype_name
from ..library import LIBRARY
from ..own_work import is_of_torch
from ..problems import unseen


class Autocasts:
    """Reports to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Begin to listen to the class from which those of single devices are derived."""
        for name in ("__enter__", "__exit__"):
            patches.wrap(LIBRARY.torch.autocast, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        action = ENTERED if original.__name__ == "__enter__" else LEFT

        def switching(autocast: Any, *args: Any) -> Any:
            result = original(autocast, *args)
            if not is_traced():
                unseen(self._report, action, autocast, getframe(2))
            return result

        return switching

    def _report(self, action: str, autocast: Any, caller: FrameType) -> None:
        torch: Any = LIBRARY.torch
        device = autocast.device
        place = place_of(caller, (str(sys.modules[torch.autocast.__module__].__file__),), is_of_torch)
        data = {"action": action, "enabled": torch.is_autocast_enabled(device)}
        data |= {"dtype": dtype_name(torch.get_autocast_dtype(device)), **place.told()}
        for watch in self._watches():
            watch.sink(Event("autocast", device, source_line(place.frame), dict(data)))

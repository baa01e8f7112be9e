"""Records ``torch.nn.Parameter(...)`` taking over the values of a tensor, which modes do not see."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ....recording.events import Event
from ..calls.tensors import number_of
from ..problems import unseen

_COPYING = "__deepcopy__"


class Parameters:
    """Reports to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def wrap_new(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make parameters report what they are made of."""

        def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(cls, *args, **kwargs)
            given = args[0] if args else kwargs.get("data")
            caller = getframe(2)  # below the wrapper that patches put around this
            if given is not None and (caller.f_code.co_name != _COPYING or _by_itself(caller)):
                unseen(self._report, given, made, caller)
            elif given is not None:
                unseen(self._note_line, made, caller)
            return made

        return __new__

    def _note_line(self, made: Any, caller: FrameType) -> None:
        """Note the line that copies a module, with all its parameters."""
        line = source_line(user_frame(caller))
        for watch in self._watches():
            number_of(watch.sink.tensors, made, source=line)

    def _report(self, given: Any, made: Any, caller: FrameType) -> None:
        line = source_line(user_frame(caller))
        for watch in self._watches():
            table = watch.sink.tensors
            data: dict[str, Any] = {"grad": True, "inputs": [number_of(table, given, source=line)]}
            number = number_of(table, made, source=line)
            data |= {"names": [""], "outputs": [number], "output_names": [""]}
            op = "deepcopy" if caller.f_code.co_name == _COPYING else "Parameter"
            row = watch.sink(Event("operation", op=op, source=line, data=data))
            if table[number].made_by is None:
                table[number].made_by = row


def _by_itself(copying: FrameType) -> bool:
    """Whether a parameter is deep-copied alone; a copied module copies its own one by one, which ties nothing."""
    asked = copying.f_back  # copy.deepcopy
    return asked is not None and asked.f_back is not None and asked.f_back.f_code.co_filename != copy.__file__

"""Calls that ran in a reentrant checkpoint none of whose inputs required grad: it records no graph for its block."""

from __future__ import annotations

import re

from ...snapshot import SourceLine
from .flow import Flow

_CHECKPOINT = re.compile(r"\bcheckpoint(_sequential)?\(")


def checkpoint_around(flow: Flow, row: int) -> SourceLine | None:
    """Return the line of the checkpoint that switched gradients off for a call; None if a block of the user's did."""
    data = flow.events[row].data
    if data.get("grad") is not False or any(frame.get("grad_off") for frame in data.get("stack", ())):
        return None
    return next((line for line in flow.lines(row) if _CHECKPOINT.search(flow.spelling.text(line))), None)

"""What events hold of modes that a program switches for what follows; ``event_data`` has the kinds."""

from __future__ import annotations

from typing import TypedDict


class GradModeData(TypedDict, total=False):
    """Data of ``grad-mode``; ``Event.source`` is the ``with``, the statement, or the call of the decorated function."""

    action: str
    """``"entered"`` or ``"left"`` of a block or decorator, ``"set"`` of a statement."""
    grad: bool
    """Grad mode from now on, and ``before``."""
    before: bool
    inference: bool
    """Inference mode is on from now on."""
    callee: str
    """The decorated function."""
    declared: list[object]
    """``[file, line, function]`` where the decorators of that function begin."""
    own: bool
    """The engine switches for itself, in the function ``callee``; told where a call loses its history by it."""

"""The data of events about modes that a program switches; ``event_data`` has the kinds."""

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
    """The engine itself switched, in the function ``callee``; recorded if a call loses its history by that."""


class AutocastData(TypedDict, total=False):
    """Data of ``autocast``."""

    action: str
    """``"entered"`` or ``"left"``."""
    enabled: bool
    dtype: str
    """The dtype that calls are made in from now on, where they are not left as they are."""
    callee: str
    """The function that is decorated with it, and ``declared`` where its decorators begin."""
    declared: list[object]


class TransformData(TypedDict, total=False):
    """Data of ``transform``; ``Event.op`` is the function of ``torch.func`` applied last, ``Event.source`` its line."""

    action: str
    """``"entered"`` if there are more levels than before, else ``"left"``."""
    levels: list[str]
    """What each open level does, outermost first: ``grad`` (also that of ``vjp``), ``jvp``, ``vmap``."""
    applied: list[list[object]]
    """``[function, file, line, name]`` of each function of ``torch.func`` around the call, outermost first."""
    # functional_call:
    names: list[str]
    """The parameters that a module was called with in place of its own, which are ``inputs``."""
    inputs: list[int]

"""The modes in force when a call was made, in the form of notes and of events."""

from __future__ import annotations

from typing import Any

Surroundings = tuple[bool, bool, str, int | None, int | None]
"""Grad mode, inference mode, scope, number of the backward pass, row of the event that switched gradients off."""


def described(surroundings: Surroundings) -> dict[str, Any]:
    """Return surroundings as events say them."""
    grad, inference, scope, run, switch = surroundings
    data: dict[str, Any] = {"grad": grad}
    if inference:
        data["inference"] = True
    if scope:
        data["scope"] = scope
    if run is not None:
        data["run"] = run
    if switch is not None:
        data["switch"] = switch
    return data

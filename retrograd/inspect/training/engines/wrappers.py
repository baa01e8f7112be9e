"""Wrappers of functions that clip gradients and scale losses, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import Hearing


def telling_clipping(original: Callable[..., Any], hearing: Hearing) -> Callable[..., Any]:
    """Make a clipping function report norm and limit."""

    def clip(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        bound = args[1] if len(args) > 1 else kwargs.get("max_norm")
        norm = found if found is not None else (args[2] if len(args) > 2 else kwargs.get("total_norm"))
        if norm is not None and bound is not None:
            hearing.clipped(norm, float(bound))
        return found

    return clip


def telling_scale(original: Callable[..., Any], hearing: Hearing) -> Callable[..., Any]:
    """Make a scaler report its scale after it has changed."""

    def update(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(scaler, *args, **kwargs)
        if scaler.is_enabled():
            hearing.scaled(scaler._scale)
        return found

    return update

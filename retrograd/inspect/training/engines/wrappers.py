"""Wrappers of functions that clip gradients and scale losses, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....interpreter import getframe
from ...program.frames import user_frame
from ...sources.patches import Patches
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


def tell_schedules(patches: Patches, module: Any, hearing: Hearing) -> None:
    """Make the schedulers of a module report that they are made, for which optimizer and where."""

    def telling(original: Callable[..., Any]) -> Callable[..., Any]:
        def make(scheduler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(scheduler, optimizer, *args, **kwargs)
            hearing.scheduled(scheduler, optimizer, user_frame(getframe(1)))
            return found

        return make

    for name in ("LRScheduler", "ReduceLROnPlateau", "SequentialLR"):  # the last two do not call what they inherit
        if hasattr(module, name):
            patches.wrap(getattr(module, name), "__init__", telling)


def tell_scaling(patches: Patches, scaler: type, hearing: Hearing) -> None:
    """Make scalers report the losses that they scale, the steps that they take or leave out, and their new scale."""

    def telling_loss(original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            found = original(scaler, outputs)
            if scaler.is_enabled():
                hearing.loss_scaled(found, outputs)
            return found

        return scale

    def telling_step(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            hearing.scaler_steps(scaler)
            try:
                found = original(scaler, optimizer, *args, **kwargs)
            except BaseException:
                hearing.scaler_stepped(None)
                raise
            hearing.scaler_stepped(optimizer)
            return found

        return step

    def telling_scale(original: Callable[..., Any]) -> Callable[..., Any]:
        def update(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(scaler, *args, **kwargs)
            if scaler.is_enabled():
                hearing.scaled(scaler._scale)
            return found

        return update

    patches.wrap(scaler, "scale", telling_loss)
    patches.wrap(scaler, "step", telling_step)
    patches.wrap(scaler, "update", telling_scale)

"""Random numbers in both runs of a checkpointed function: the recomputation draws what the first run drew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..random import get_rng_state, set_rng_state


def remembered(preserve: bool) -> Any:
    """The generator's state, or ``None`` if it is not to be preserved."""
    return get_rng_state() if preserve else None


@contextmanager
def replayed(state: Any) -> Iterator[None]:
    """Inside the block random numbers continue from ``state``; afterwards from where they were."""
    if state is None:
        yield
        return
    outside = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(outside)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The devices other than the CPU where ``args`` are, and their random states: there are none."""
    return [], []


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Put the states of ``get_device_states`` back."""

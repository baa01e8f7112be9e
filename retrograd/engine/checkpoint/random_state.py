"""Random numbers in both runs of a checkpointed function: the second draws what the first drew."""

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

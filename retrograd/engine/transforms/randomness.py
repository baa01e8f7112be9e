"""Random numbers beneath ``vmap`` and ``jacfwd``, where it has to be said whether entries draw their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..random import get_rng_state, set_rng_state


@contextmanager
def drawing_refused() -> Iterator[None]:
    """``RuntimeError`` at the end of the block if it drew random numbers."""
    start = get_rng_state()
    yield
    _refuse_drawing_since(start)


def _refuse_drawing_since(start: Any) -> None:
    if bool((get_rng_state() != start).any()):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
            "'different' randomness flags on vmap or perform the randomness operation out of vmap"
        )


def check_randomness(randomness: str) -> None:
    """``RuntimeError`` for what is no way of drawing."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def drawing_as_asked(entries: Iterator[Any], randomness: str) -> Iterator[Any]:
    """The entries; between them it is seen to that random numbers are drawn as asked for."""
    start = get_rng_state()
    for i, entry in enumerate(entries):
        if i and randomness == "same":
            set_rng_state(start)
        yield entry
        if randomness == "error":
            _refuse_drawing_since(start)

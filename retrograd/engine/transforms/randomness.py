"""Random numbers under ``vmap`` and ``jacfwd``, where the program must say whether entries draw their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from ..random import default_generator, get_rng_state, set_rng_state


@contextmanager
def drawing_refused() -> Iterator[None]:
    """``RuntimeError`` where the block draws random numbers, before it has them."""
    refused, here = default_generator.refused_on, get_ident()
    outer = here in refused
    refused.add(here)
    try:
        yield
    finally:
        if not outer:
            refused.discard(here)


def check_randomness(randomness: str) -> None:
    """``RuntimeError`` for what is no way of drawing."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def drawing_alike(entries: Iterator[Any]) -> Iterator[Any]:
    """The entries; for each of them random numbers begin where they began for the first one."""
    start = get_rng_state()
    for i, entry in enumerate(entries):
        if i:
            set_rng_state(start)
        yield entry

"""One process alone, so that one program runs with and without a launcher."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Done:
    """A reduction over one process."""

    def done(self) -> bool:
        """It has ended before it began."""
        return True

    def abandon(self) -> None:
        """Nothing is under way."""


class SingleProcess:
    """A ``Communicator`` of one rank."""

    rank = 0
    world_size = 1

    def allreduce(self, array: np.ndarray) -> _Done:
        """Leave ``array``: the sum over one rank."""
        return _Done()

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Leave ``array`` as it is."""

    def gather(self, value: Any, root: int = 0) -> list[Any]:
        """Return the one value."""
        return [value]

    def barrier(self) -> None:
        """Return at once."""

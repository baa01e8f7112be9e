"""Random numbers with a seedable generator per process."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np


class Generator:
    """A source of random numbers; ``manual_seed`` makes it reproducible."""

    def __init__(self, device: Any = None) -> None:
        self._seed = 67280421310721

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """NumPy's generator; made on first use, since ``numpy.random`` is slow to import."""
        return np.random.Generator(np.random.PCG64(self._seed % 2**64))

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``."""
        self._seed = int(seed)
        self.__dict__.pop("rng", None)
        return self

    def initial_seed(self) -> int:
        """The seed last set."""
        return self._seed

    def seed(self) -> int:
        """Start from an unpredictable seed and return it."""
        fresh = int.from_bytes(os.urandom(8), "big") >> 1
        self.manual_seed(fresh)
        return fresh

    def get_state(self) -> Any:
        """The state, to be restored by ``set_state``."""
        return self.rng.bit_generator.state

    def set_state(self, state: Any) -> None:
        """Restore a state."""
        self.rng.bit_generator.state = state


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Make everything random from here on reproducible."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed last set."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """State of the default generator."""
    return default_generator.get_state()


def set_rng_state(state: Any) -> None:
    """Restore the default generator."""
    default_generator.set_state(state)


def rng_of(generator: Generator | None) -> np.random.Generator:
    """NumPy's generator behind ours; ``TypeError`` for what is none."""
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return (generator or default_generator).rng

"""Random numbers with a seedable generator per process: PyTorch's Mersenne Twister, with its seeds and its states."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from threading import get_ident
from typing import Any

import numpy as np

from ..locks import once, reentrant_lock
from .core.base import TensorBase, wrap
from .core.batches import check_drawing
from .core.devices import CPU
from .streams.state import State, Twister, Words, packed, unpacked
from .switches.state import STATE


class Generator:
    """A source of random numbers; ``manual_seed`` makes it reproducible."""

    __module__ = "retrograd._C"

    device = CPU
    spare: float | None = None
    """The second of two normal numbers, if only the first was asked for."""

    def __init__(self, device: Any = None) -> None:
        if device is not None and str(device) != "cpu":
            raise RuntimeError(
                f"Device type {device} is not supported for torch.Generator() api: there is only the CPU"
            )
        self._seed = 67280421310721
        self._packed: bytes | None = None  # the state, until numbers are drawn
        self.lock = reentrant_lock()
        self.refused_on: set[int] = set()  # threads on which nothing may be drawn

    @once
    def _twister(self) -> Twister:
        """Made on first use, since ``numpy.random`` is slow to import."""
        return Twister(self._seed % 2**32)

    def words(self, count: int) -> Words:
        """The next words of 32 bits."""
        self._check_drawing()
        with self.lock:
            self._packed = None
            return self._twister.words(count)

    def _check_drawing(self) -> None:
        if self.refused_on and get_ident() in self.refused_on:
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )

    def keep(self, spare: float | None) -> None:
        """Keep a normal number for later, or None."""
        self._check_drawing()
        with self.lock:
            self._packed, self.spare = None, spare

    def mark(self) -> bytes:
        """The current position, for ``go_back``."""
        return self._state()

    def go_back(self, mark: bytes) -> None:
        """Draw the words after ``mark`` again; a normal number that was kept since stays."""
        with self.lock:
            spare = self.spare
            self._restore(unpacked(mark))
            self.keep(spare)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long: a seed has 64 bits")
        with self.lock:
            self._seed, self._packed, self.spare = seed % 2**64, None, None
            if "_twister" in self.__dict__:
                self._twister.seed(self._seed % 2**32)
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
        """The state as a tensor of bytes, to be restored by ``set_state``; PyTorch can read it, too."""
        return wrap(np.frombuffer(self._state(), np.uint8).copy())

    def _state(self) -> bytes:
        with self.lock:
            if self._packed is None:
                self._packed = packed(State(self._seed, *self._twister.state(), self.spare))
            return self._packed

    def set_state(self, new_state: Any) -> Generator:
        """Restore a state; ``TypeError`` or ``RuntimeError`` for anything but a generator's state."""
        if not isinstance(new_state, TensorBase) or new_state._array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor, but got " + type(new_state).__name__)
        raw = new_state._array.tobytes()
        with self.lock:
            if raw != self._packed:
                self._restore(unpacked(raw))
        return self

    def _restore(self, state: State) -> None:
        self._packed, self._seed, self.spare = None, state.seed, state.spare
        self._twister.set_state(state.key, state.place)

    def clone_state(self) -> Generator:
        """Another generator that continues from here."""
        made = Generator()
        made.set_state(self.get_state())
        return made

    @contextlib.contextmanager
    def resumed(self) -> Iterator[None]:
        """Restore the state after the block; before the first draw, no generator is created."""
        seed, state = self._seed, self.get_state() if "_twister" in self.__dict__ else None
        try:
            yield
        finally:
            if state is None:
                self.manual_seed(seed)
            else:
                self.set_state(state)

    def __repr__(self) -> str:
        return "<Generator of the CPU>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_with_state, (self.get_state(),))


default_generator = Generator()
if hasattr(os, "register_at_fork"):  # a process forks between draws; the child finds the lock open, as all of them
    _lock = default_generator.lock
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release)


def _with_state(state: Any) -> Generator:
    made = Generator()
    made.set_state(state)
    return made


def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generator, so that random numbers are reproducible."""
    return default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """The seed last set."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """State of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Restore the default generator."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_settings: Any) -> Iterator[None]:
    """Restore the state of the generator after the block."""
    with default_generator.resumed() if enabled else contextlib.nullcontext():
        yield


def generator_of(generator: Any, *, into: Any = None, by: tuple[Any, ...] = ()) -> Generator:
    """The given generator, or the process's; ``TypeError`` for any other object.

    ``into`` is a tensor that will be overwritten by what is drawn, ``by`` has parameters of the distribution: ``vmap``
    refuses some of them.
    """
    if STATE.batches:
        check_drawing(into, by)
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator

"""Random numbers with a seedable generator per process."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from .tensors.base import TensorBase, wrap
from .tensors.dtypes import CPU

_WORDS: Final = (("state", 16), ("inc", 16), ("has_uint32", 1), ("uinteger", 4))
"""What the state of NumPy's PCG64 consists of, with the number of bytes of each part."""


class Generator:
    """A source of random numbers; ``manual_seed`` makes it reproducible."""

    device = CPU

    def __init__(self, device: Any = None) -> None:
        if device is not None and str(device) != "cpu":
            raise RuntimeError(
                f"Device type {device} is not supported for torch.Generator() api: there is only the CPU"
            )
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
        """The state as a tensor of bytes, to be restored by ``set_state``."""
        state = self.rng.bit_generator.state
        parts = {**state, **state["state"]}
        raw = b"".join([int(parts[name]).to_bytes(size, "little") for name, size in _WORDS])
        return wrap(np.frombuffer(raw + int(self._seed % 2**64).to_bytes(8, "little"), np.uint8).copy())

    def set_state(self, state: Any) -> None:
        """Restore a state; ``TypeError`` or ``RuntimeError`` for what no generator gave."""
        if not isinstance(state, TensorBase) or state._array.dtype != np.uint8:
            raise TypeError("expected a torch.ByteTensor, but got " + type(state).__name__)
        raw = state._array.tobytes()
        if len(raw) != _STATE_BYTES:
            raise RuntimeError(
                f"Expected a generator's state of size {_STATE_BYTES} but found the input RNG state size to be "
                f"{len(raw)}"
            )
        parts, place = {}, 0
        for name, size in _WORDS:
            parts[name] = int.from_bytes(raw[place : place + size], "little")
            place += size
        self.manual_seed(int.from_bytes(raw[place:], "little"))
        inner = {"state": parts.pop("state"), "inc": parts.pop("inc")}
        self.rng.bit_generator.state = {"bit_generator": "PCG64", "state": inner, **parts}

    def clone_state(self) -> Generator:
        """Another generator that goes on from here."""
        made = Generator()
        made.set_state(self.get_state())
        return made

    def __repr__(self) -> str:
        return "<Generator of the CPU>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_with_state, (self.get_state(),))


_STATE_BYTES: Final = sum(size for _, size in _WORDS) + 8
default_generator = Generator()


def _with_state(state: Any) -> Generator:
    made = Generator()
    made.set_state(state)
    return made


def manual_seed(seed: int) -> Generator:
    """Make everything random from here on reproducible."""
    return default_generator.manual_seed(seed)


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
    """After the block random numbers go on as if it had drawn none."""
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)


def rng_of(generator: Generator | None) -> np.random.Generator:
    """NumPy's generator behind ours; ``TypeError`` for what is none."""
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return (generator or default_generator).rng

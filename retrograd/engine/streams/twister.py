"""The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998): NumPy's, with access to its state."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...locks import once
from .state import KEY_WORDS

Words = np.ndarray[Any, np.dtype[np.uint64]]


class Twister:
    """Words of 32 bits from a seed of 32 bits."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.MT19937(0)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start again, as the authors' ``init_genrand`` does."""
        self._bits._legacy_seeding(seed)

    def words(self, count: int) -> Words:
        """The next words."""
        drawn: Words = self._bits.random_raw(count)
        return drawn

    def state(self) -> tuple[Any, int]:
        """The key, and how many of its words are used up."""
        if self._memory is not None:
            return self._memory[:KEY_WORDS].copy(), int(self._memory[KEY_WORDS])
        return _state_of(self._bits)

    def set_state(self, key: Any, place: int) -> None:
        """Go on from a state."""
        if self._memory is not None:
            self._memory[:KEY_WORDS], self._memory[KEY_WORDS] = key, place
        else:
            self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": place}}

    @once
    def _memory(self) -> Any:
        """The memory of the state, which reading by way of NumPy would take 70 µs; None if it is not as expected."""
        address = self._bits.ctypes.state_address
        memory = np.ctypeslib.as_array((ctypes.c_uint32 * (KEY_WORDS + 1)).from_address(address))
        key, place = _state_of(self._bits)
        return memory if memory[KEY_WORDS] == place and np.array_equal(memory[:KEY_WORDS], key) else None


def _state_of(bits: np.random.MT19937) -> tuple[Any, int]:
    inner: Any = bits.state["state"]
    return inner["key"], int(inner["pos"])

"""The Mersenne twister, and its state as PyTorch saves it."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Final, NamedTuple

import numpy as np

from ...locks import once

# The state of a generator, and PyTorch's layout of it in bytes.

KEY_WORDS: Final = 624
_HEAD: Final = struct.Struct("<QiiQ")  # the seed, words left, whether seeded, the next word
_TAIL: Final = struct.Struct("<dddi4x")  # zero, the spare number, zero, whether there is one
_UNUSED: Final = bytes(8)
"""A spare number of single precision, which no CPU stream has."""
STATE_BYTES: Final = _HEAD.size + 8 * KEY_WORDS + _TAIL.size + len(_UNUSED)


class State(NamedTuple):
    """A generator at one moment."""

    seed: int
    key: Any
    place: int
    """How many words of the key are used up."""
    spare: float | None
    """The second of two normal numbers, if only the first was asked for."""


def packed(state: State) -> bytes:
    """The state as PyTorch's ``get_state`` writes it."""
    fresh = state.place == KEY_WORDS and int(state.key[0]) == state.seed % 2**32
    head = _HEAD.pack(state.seed, max(KEY_WORDS + 1 - state.place, 1), 1, 0 if fresh else state.place)
    tail = _TAIL.pack(0.0, state.spare or 0.0, 0.0, state.spare is not None)
    key: bytes = state.key.astype("<u8").tobytes()
    return head + key + tail + _UNUSED


def unpacked(raw: bytes) -> State:
    """The state in bytes that ``packed`` or PyTorch wrote; ``RuntimeError`` for others."""
    if len(raw) != STATE_BYTES:
        raise RuntimeError(
            f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
            f"{len(raw)}"
        )
    seed, left, seeded, following = _HEAD.unpack_from(raw)
    if not seeded or not 0 < left <= KEY_WORDS or following > KEY_WORDS:
        raise RuntimeError("Invalid mt19937 state")
    key = np.frombuffer(raw, "<u8", KEY_WORDS, _HEAD.size).astype(np.uint32)
    _, spare, _, valid = _TAIL.unpack_from(raw, _HEAD.size + 8 * KEY_WORDS)
    return State(seed, key, KEY_WORDS if left == 1 else following, spare if valid else None)


# The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998): NumPy's, with access to its state.

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
